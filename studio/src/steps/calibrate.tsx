import { type CalibrateSettings, JOBS } from "../options";
import { Empty } from "../parts/bits";
import { MeasuredStep } from "../parts/measured";
import { Fields } from "../parts/options";
import { useStudio } from "../studio";
import type { Table } from "../types";

type Measure = NonNullable<CalibrateSettings["measure"]>[number];
const MEASURE = JOBS.calibrate.measure.options;

export default function CalibrateStep() {
  const { project } = useStudio();
  if (!project.robot) return <Empty>Choose a robot first: its lengths, angles and zeros are corrected.</Empty>;
  return (
    <MeasuredStep kind="calibrate" start="Calibrate" what="Calibration" row="A row has the joint positions of a posture and what was measured of the tool there." result="Corrected robot, model and report (zip)">
      {(asked, set) => <Measures measures={asked.measure ?? []} onChange={(measure) => set({ ...asked, measure: measure.length ? measure : null })} />}
    </MeasuredStep>
  );
}

/** What was measured, where the header of a file does not say it. */
function Measures({ measures, onChange }: { measures: Measure[]; onChange: (measures: Measure[]) => void }) {
  return (
    <details open={measures.length > 0}>
      <summary>What was measured</summary>
      <p className="soft">
        {JOBS.calibrate.measure.help} Without any: {JOBS.calibrate.measure.otherwise}.
      </p>
      {measures.map((measure, k) => (
        <fieldset key={k} className="plain-set">
          <legend>measurement {k + 1}</legend>
          <Fields options={MEASURE} values={measure as Table} set={(key, value) => onChange(measures.map((one, j) => (j === k ? { ...one, [key]: value } : one)))} />
          <button type="button" className="plain" onClick={() => onChange(measures.filter((_, j) => j !== k))}>
            Remove measurement {k + 1}
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => onChange([...measures, { kind: MEASURE.kind.choices[0] }])}>
        Add a measurement
      </button>
    </details>
  );
}
