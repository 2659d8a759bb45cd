import { useState } from "react";
import { Archive, CheckField, Empty, JobLine, NumberField, Panel, SelectField, Stale } from "../parts/bits";
import { Deviations, LimitUse, MotionCurves, MotionWords, Played } from "../parts/motion";
import { latest, useRuns, useStudio } from "../studio";
import type { Job, MotionView } from "../types";

const CRITERIA = ["condition", "scaled-condition", "logdet", "deviation"];
const CRITERION_NAMES = { condition: "condition number", "scaled-condition": "condition number, columns scaled", logdet: "log det (D-optimal)", deviation: "largest predicted deviation" };

interface Asked {
  duration: number | null;
  harmonics: number | null;
  criterion: string;
  starts: number | null;
  velocity: number | null;
  acceleration: number | null;
  floor: string;
  height: number | null;
  collision: boolean;
  obstacles: Obstacle[];
}

/** A box that stands still: its centre and its edges [m], along the axes of the base. */
interface Obstacle { centre: (number | null)[]; size: (number | null)[] }
const BOX: Obstacle = { centre: [0.6, 0, 0.2], size: [0.2, 0.2, 0.4] };

export default function ExciteStep() {
  const { project, run, path, go } = useStudio();
  const { job, shown: result, view } = useRuns<MotionView>("excite");
  const rehearsal = latest(project, "rehearse");
  const [asked, setAsked] = useState<Asked>({ duration: 10, harmonics: 5, criterion: "condition", starts: 1, velocity: null, acceleration: null, floor: "base", height: 0, collision: true, obstacles: [] });
  const set = (changes: Partial<Asked>) => setAsked({ ...asked, ...changes });
  if (!project.robot) return <Empty>Choose a robot first.</Empty>;

  const start = () => {
    const floor = asked.floor === "none" ? false : asked.floor === "height" ? (asked.height ?? 0) : undefined;
    void run("excite", {
      duration: asked.duration ?? 10,
      harmonics: asked.harmonics ?? 5,
      criterion: asked.criterion,
      starts: asked.starts ?? 1,
      limits: {
        velocity: asked.velocity,
        acceleration: asked.acceleration,
        floor,
        self_collision: asked.collision,
        obstacle: asked.obstacles.length ? asked.obstacles.map(({ centre, size }, k) => ({ name: `box ${k + 1}`, centre: centre.map((v) => v ?? 0), size: size.map((v) => v ?? 0.1) })) : null,
      },
    });
    if (path[1]) go("/excite");
  };

  return (
    <div className="split form">
      <div className="pane">
        <Panel title="Requirements">
          <div className="fields">
            <NumberField label="duration" unit="s" min={0.5} value={asked.duration} onChange={(duration) => set({ duration })} />
            <NumberField label="harmonics" step={1} min={1} value={asked.harmonics} onChange={(harmonics) => set({ harmonics })} />
            <NumberField label="searches" step={1} min={1} value={asked.starts} onChange={(starts) => set({ starts })} />
            <SelectField label="good is" value={asked.criterion} options={CRITERIA} names={CRITERION_NAMES} onChange={(criterion) => set({ criterion })} />
          </div>
          <h3>Limits</h3>
          <p className="soft">Positions and empty fields: from the robot's file.</p>
          <div className="fields">
            <NumberField label="velocity" unit="rad/s, m/s" min={0} placeholder="of the file" value={asked.velocity} onChange={(velocity) => set({ velocity })} />
            <NumberField label="acceleration" unit="rad/s², m/s²" min={0} placeholder="of the file" value={asked.acceleration} onChange={(acceleration) => set({ acceleration })} />
            <SelectField label="stay above" value={asked.floor} options={["base", "height", "none"]} names={{ base: "the base plane", height: "a table", none: "nothing" }} onChange={(floor) => set({ floor })} />
            {asked.floor === "height" && <NumberField label="its height" unit="m" value={asked.height} onChange={(height) => set({ height })} />}
          </div>
          <p>
            <CheckField label="keep links apart" value={asked.collision} onChange={(collision) => set({ collision })} />
          </p>
          <Obstacles all={asked.obstacles} onChange={(obstacles) => set({ obstacles })} />
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
        {view && result ? <Motion key={result.name} view={view} job={result} /> : job?.state !== "running" && <Empty>No motion yet. A search takes from some seconds to a few minutes.</Empty>}
      </div>
    </div>
  );
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
        <Played view={view} />
        <MotionWords view={view} />
      </Panel>
      <Panel title="Use of the limits">
        <LimitUse view={view} />
      </Panel>
      <Panel title="Motion">
        <MotionCurves view={view} />
      </Panel>
      <Panel title="Predicted deviations">
        <Deviations view={view} tall />
      </Panel>
    </div>
  );
}
