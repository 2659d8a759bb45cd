import { MotionPage } from "./motion";
import { RobotPage } from "./robot";
import { mount } from "./shell";

mount({ motion: MotionPage, robot: RobotPage });
