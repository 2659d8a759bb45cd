import { useState } from "react";
import { upload } from "../api";
import { type CalibrateSettings, JOBS } from "../options";
import { Archive, DropZone, Empty, JobLine, Panel, SelectField, Stale } from "../parts/bits";
import { Fit } from "../parts/fit";
import { Fields, JobFields } from "../parts/options";
import { Uses } from "../parts/uses";
import { useRuns, useStudio } from "../studio";
import type { FitView, Table } from "../types";

type Measure = NonNullable<CalibrateSettings["measure"]>[number];
const MEASURE = JOBS.calibrate.measure.options;

export default function CalibrateStep() {
  const { project, refresh, say, run, path, go } = useStudio();
  const { job, done: runs, shown: result, name, view } = useRuns<FitView>("calibrate");
  const [asked, setAsked] = useState<CalibrateSettings>({});
  const files = project.files.filter((file) => file.kind === "log");
  const measures = asked.measure ?? [];
  const setMeasures = (measure: Measure[]) => setAsked({ ...asked, measure: measure.length ? measure : null });

  const drop = async (dropped: File[]) => {
    try {
      for (const file of dropped) await upload("log", file, project.largest);
      say(null);
    } catch (error) {
      say((error as Error).message);
    }
    await refresh();
  };
  const start = () => {
    void run("calibrate", asked);
    if (path[1]) go("/calibrate");
  };

  if (!project.robot) return <Empty>Choose a robot first: its lengths, angles and zeros are corrected.</Empty>;
  return (
    <div className="stack">
      <div className="bar">
        <DropZone label="Open measurements" hint={`or drop them here: ${project.log_endings.join(" ")}`} accept={[...project.log_endings, ".gz"].join()} multiple onFiles={drop} />
      </div>
      <div className="split form">
        <div className="pane">
          <Panel title="Measurements">
            {files.length ? (
              <Uses logs={files} train={asked.measurements ?? []} unseen={asked.validate ?? []} onChange={(measurements, validate) => setAsked({ ...asked, measurements, validate })} />
            ) : (
              <Empty>No files yet. A row has the joint positions of a posture and what was measured of the tool there.</Empty>
            )}
          </Panel>
        </div>
        <div className="pane">
          <Panel title="Settings">
            <JobFields job="calibrate" asked={asked} onChange={setAsked} />
            <details open={measures.length > 0}>
              <summary>What was measured</summary>
              <p className="soft">{JOBS.calibrate.measure.help} Without any: {JOBS.calibrate.measure.otherwise}.</p>
              {measures.map((measure, k) => (
                <fieldset key={k} className="plain-set">
                  <legend>measurement {k + 1}</legend>
                  <Fields options={MEASURE} values={measure as Table} set={(key, value) => setMeasures(measures.map((one, j) => (j === k ? { ...one, [key]: value } : one)))} />
                  <button type="button" className="plain" onClick={() => setMeasures(measures.filter((_, j) => j !== k))}>
                    Remove measurement {k + 1}
                  </button>
                </fieldset>
              ))}
              <button type="button" onClick={() => setMeasures([...measures, { kind: MEASURE.kind.choices[0] }])}>
                Add a measurement
              </button>
            </details>
            <div className="actions">
              <button type="button" className="main" disabled={job?.state === "running" || !asked.measurements?.length} onClick={start}>
                Calibrate
              </button>
              {!asked.measurements?.length && <span className="soft">mark files to fit first</span>}
            </div>
          </Panel>
          <JobLine job={job} what="Calibration" />
        </div>
      </div>
      {result && name && (
        <>
          <div className="bar">
            <SelectField label="Run" value={name} options={runs.map((one) => one.name)} onChange={(chosen) => go(`/calibrate/${chosen}`)} />
            <a className="button" href={`/api/jobs/${name}/pages/report`} target="_blank" rel="noreferrer">
              Report as a page
            </a>
            <Archive job={result} label="Corrected robot, model and report (zip)" />
          </div>
          <Stale job={result} />
          <div className={result.stale.length ? "old" : undefined}>{view && <Fit key={name} view={view} name={name} />}</div>
        </>
      )}
    </div>
  );
}
