import { MeasuredStep } from "../parts/measured";

/** The tool on a force/torque sensor, from its wrenches at rest or in motion. */
export default function WrenchStep() {
  return (
    <MeasuredStep
      kind="wrench"
      start="Identify the tool"
      what="Identification of the tool"
      row="A row has a pose of the sensor (its orientation, or the joint positions of the robot) and the force and moment that it showed there."
      result="Tool, bias and report (zip)"
    />
  );
}
