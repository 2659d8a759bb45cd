import { ErrorArrowsOf } from "../parts/arrows";
import { FitPage, ValidationPage } from "./fit";
import { MotionPage, PlayedPage } from "./motion";
import { RobotPage } from "./robot";
import { mount, type PageData } from "./shell";

const Fitted = ({ data }: { data: PageData<never> }) => <FitPage data={data} Picture={ErrorArrowsOf} />;
const Validated = ({ data }: { data: PageData<never> }) => <ValidationPage data={data} Picture={ErrorArrowsOf} />;

mount({ fit: Fitted, validation: Validated, motion: MotionPage, played: PlayedPage, robot: RobotPage });
