import { MotionPage, PlayedPage } from "./motion";
import { RobotPage } from "./robot";
import { mount } from "./shell";

mount({ motion: MotionPage, played: PlayedPage, robot: RobotPage });
