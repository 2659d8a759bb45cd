import { useEffect, useState } from "react";
import { JOBS, type ExciteSettings } from "../options";
import { Archive, Empty, JobLine, NumberField, Panel, SelectField, Stale } from "../parts/bits";
import { Deviations, LimitUse, MotionWords, PlayedWithCurves } from "../parts/motion";
import { Fields, JobFields } from "../parts/options";
import { Plot, type Series } from "../parts/plot";
import { latest, useAsked, useRuns, useStudio } from "../studio";
import type { Job, MotionView, Table } from "../types";

type Limits = NonNullable<ExciteSettings["limits"]>;
/** A box that stands still: its centre and its edges [m], along the axes of the base. */
interface Obstacle { centre: (number | null)[]; size: (number | null)[] }
const LIMITS = JOBS.excite.limits.options;
const { format: _, ...ASKED } = LIMITS; // the version of a file is nobody's choice
const BOX: Obstacle = { centre: [...LIMITS.obstacle.options.centre.example], size: [...LIMITS.obstacle.options.size.example] };
const whole = (values: (number | null)[], usual: readonly number[]) => values.map((value, k) => value ?? usual[k]);

export default function ExciteStep() {
  const { project, run, path, go } = useStudio();
  const { job, shown: result, view } = useRuns<MotionView>("excite");
  const rehearsal = latest(project, "rehearse");
  const [asked, setAsked] = useAsked("excite");
  const [limits, setLimits] = useState<Limits>(asked.limits ?? {});
  const [floor, setFloor] = useState(limits.floor === false ? "none" : typeof limits.floor === "number" ? "height" : "base");
  const [obstacles, setObstacles] = useState((limits.obstacle ?? []) as Obstacle[]);
  if (!project.robot) return <Empty>Choose a robot first.</Empty>;

  const start = () => {
    const obstacle = obstacles.map(({ centre, size }, k) => ({ name: `box ${k + 1}`, centre: whole(centre, BOX.centre as number[]), size: whole(size, BOX.size as number[]) }));
    void run("excite", { ...asked, limits: { ...limits, floor: floor === "none" ? false : floor === "height" ? limits.floor : null, obstacle } });
    if (path[1]) go("/excite");
    window.scrollTo(0, 0); // the search is followed above
  };

  return (
    <div className="split form">
      <div className="pane">
        <Panel title="Requirements">
          <JobFields job="excite" asked={asked} onChange={setAsked} />
          <h3>Limits</h3>
          <p className="soft">Positions and what is not stated here: from the robot's file.</p>
          <Fields options={ASKED} values={limits as Table} set={(key, value) => setLimits({ ...limits, [key]: value })} />
          <div className="fields">
            <SelectField label="stay above" value={floor} options={["base", "height", "none"]} names={{ base: "the base plane", height: "a table", none: "nothing" }} onChange={setFloor} />
            {floor === "height" && <NumberField label="its height" unit={LIMITS.floor.unit} value={typeof limits.floor === "number" ? limits.floor : null} onChange={(height) => setLimits({ ...limits, floor: height })} />}
          </div>
          <Obstacles all={obstacles} onChange={setObstacles} />
          <div className="actions">
            <button type="button" className="main" disabled={job?.state === "running"} onClick={start}>
              Find a motion
            </button>
          </div>
        </Panel>
        <Panel title="No real robot?">
          <p className="soft">Record two logs of this robot in simulation (MuJoCo), with noise and encoder steps, and go on with them in Data.</p>
          <button type="button" disabled={rehearsal?.state === "running"} onClick={() => void run("rehearse", {})}>
            Rehearse
          </button>
          <div style={{ marginTop: ".7rem" }}>
            <JobLine job={rehearsal} what="Rehearsal" />
            <Stale job={rehearsal} />
            {rehearsal?.state === "done" && (
              <p>
                {rehearsal.sentence}.{" "}
                <a href={`/api/jobs/${rehearsal.name}/pages/rehearsal`} target="_blank" rel="noreferrer">
                  Its page
                </a>
              </p>
            )}
          </div>
        </Panel>
      </div>
      <div className="pane">
        <JobLine job={job} what="Search for a motion" />
        <Criterion job={job} />
        {view && result ? <Motion key={result.name} view={view} job={result} /> : job?.state !== "running" && <Empty>No motion yet. A search takes from some seconds to a few minutes.</Empty>}
      </div>
    </div>
  );
}

const found = new Map<string, { t: number[]; values: number[] }>(); // criterion of searches that this page has followed

/** The criterion of a search while it runs, over the time since it began. */
function Criterion({ job }: { job: Job | undefined }) {
  const [curve, setCurve] = useState<{ t: number[]; series: Series[] } | null>(null);
  const name = job?.state === "running" ? job.name : null, value = job?.numbers.criterion, evaluations = job?.numbers.evaluations;
  useEffect(() => {
    if (!name || !job || value === undefined || !Number.isFinite(value)) return;
    const own = found.get(name) ?? { t: [], values: [] }, at = Date.now() / 1000 - job.started;
    found.set(name, { t: [...own.t, at], values: [...own.values, value] });
    const { t, values } = found.get(name)!;
    setCurve({ t, series: [{ label: "criterion", values, colour: "--predicted" }] });
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [name, value, evaluations]);
  return name && curve && curve.t.length > 1 ? (
    <Panel>
      <Plot title="Criterion of the search" unit="smaller is better" t={curve.t} series={curve.series} height={150} log />
    </Panel>
  ) : null;
}

/** Boxes that the robot must not touch. */
function Obstacles({ all, onChange }: { all: Obstacle[]; onChange: (all: Obstacle[]) => void }) {
  const change = (k: number, part: Partial<Obstacle>) => onChange(all.map((one, i) => (i === k ? { ...one, ...part } : one)));
  const put = (list: (number | null)[], axis: number, value: number | null) => list.map((old, i) => (i === axis ? value : old));
  return (
    <>
      {all.map((one, k) => (
        <fieldset key={k} className="plain-set">
          <legend>
            box {k + 1}{" "}
            <button type="button" className="plain" aria-label={`Remove box ${k + 1}`} onClick={() => onChange(all.filter((_, i) => i !== k))}>
              ×
            </button>
          </legend>
          <div className="fields three">
            {["x", "y", "z"].map((axis, i) => (
              <NumberField key={axis} label={`centre ${axis}`} unit="m" step={0.01} value={one.centre[i]} onChange={(v) => change(k, { centre: put(one.centre, i, v) })} />
            ))}
            {["x", "y", "z"].map((axis, i) => (
              <NumberField key={axis} label={`size ${axis}`} unit="m" step={0.01} min={0} value={one.size[i]} onChange={(v) => change(k, { size: put(one.size, i, v) })} />
            ))}
          </div>
        </fieldset>
      ))}
      <p>
        <button type="button" className="plain" onClick={() => onChange([...all, BOX])}>
          Add a box to stay clear of
        </button>
      </p>
    </>
  );
}

function Motion({ view, job }: { view: MotionView; job: Job }) {
  return (
    <div className={job.stale.length ? "stack old" : "stack"}>
      <Stale job={job} />
      <Panel
        title={view.headline}
        tools={
          <>
            <Archive job={job} label="Motion (zip)" />
            <a className="button" href={`/api/jobs/${job.name}/pages/excitation`} target="_blank" rel="noreferrer">
              As a page
            </a>
          </>
        }
      >
        <PlayedWithCurves view={view} />
        <MotionWords view={view} />
      </Panel>
      <Panel title="Use of the limits">
        <LimitUse view={view} />
      </Panel>
      <Panel title="Predicted deviations">
        <Deviations view={view} tall />
      </Panel>
    </div>
  );
}
