import { memo, useMemo, useState } from "react";
import { Empty, JobLine, Panel, SelectField, shown, Stale, unitsOf } from "../parts/bits";
import { useLook } from "../parts/look";
import { JobFields } from "../parts/options";
import { ClockContext, PlayerBar, usePlayer } from "../parts/player";
import { Plot } from "../parts/plot";
import { Stage } from "../parts/stage";
import { DataTable, numbers, Segment } from "../parts/table";
import { modelChoices, useAsked, useRobotView, useRuns, useStudio } from "../studio";
import type { ControlRun, ControlView } from "../types";

const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

export default function ControlStep() {
  const { project, run, path, go } = useStudio();
  const { job, shown: result, view } = useRuns<ControlView>("control");
  const [robot] = useRobotView();
  const [arm, setArm] = useState<string | null>(null);
  const [known, setKnown] = useState<string | null>(null);
  const [asked, setAsked] = useAsked("control");
  if (!project.robot) return <Empty>Choose a robot first.</Empty>;
  const { options, names, first: newest } = modelChoices(project, robot?.robot.robot);
  const start = () => {
    void run("control", { ...asked, arm: (arm ?? newest) || null, known: (known ?? newest) || null });
    if (path[1]) go("/control");
  };
  return (
    <div className="split form">
      <div className="pane">
        <Panel title="Experiment">
          <p className="soft">A motion through random postures of the arm, simulated in MuJoCo. The controller has a model of its own.</p>
          <div className="stack">
            <SelectField label="the arm is" value={arm ?? newest} options={options} names={names} onChange={setArm} />
            <SelectField label="the controller's model is" value={known ?? newest} options={options} names={names} onChange={setKnown} />
          </div>
          <JobFields job="control" asked={asked} onChange={setAsked} />
          <div className="actions">
            <button type="button" className="main" disabled={job?.state === "running"} onClick={start}>
              Follow a motion
            </button>
          </div>
        </Panel>
      </div>
      <div className="pane">
        <JobLine job={job} what="Control" />
        <Stale job={result} />
        {view && result ? (
          <div className={result.stale.length ? "old" : undefined}>
            <Followed key={result.name} view={view} />
          </div>
        ) : job?.state !== "running" && <Empty>No experiment yet. Choose the controller's model and see how well the arm follows.</Empty>}
      </div>
    </div>
  );
}

function Followed({ view }: { view: ControlView }) {
  const [chosen, setChosen] = useLook("controller", view.runs[0].name);
  const run = view.runs.find((one) => one.name === chosen) ?? view.runs[0];
  const tracking = view.runs.filter((one) => one.kind === "tracking");
  return (
    <div className="stack">
      <Panel title={`${run.name[0].toUpperCase()}${run.name.slice(1)}`}>
        <Segment label="Controllers" options={view.runs.map(({ name }) => ({ key: name, title: name }))} value={run.name} onChange={setChosen} />
        <Run key={run.name} view={view} run={run} />
        {view.skipped.map((sentence) => (
          <div key={sentence} className="message warn">
            <b>Not shown</b>
            <span>{sentence}</span>
          </div>
        ))}
      </Panel>
      <Panel title="Tracking errors">
        <p className="soft">
          Arm: {view.arm}. Controller: {view.known}. Root mean square over the motion [{unitsOf("mrad or mm", view.robot.joints)}].
        </p>
        <DataTable
          label="Tracking errors"
          columns={["joint", ...tracking.map((one) => numbers(one.name))]}
          rows={view.joints.map((joint, j) => ({ key: joint, cells: [joint, ...tracking.map((one) => shown(one.rms?.[j], 3))] }))}
        />
      </Panel>
    </div>
  );
}

function Run({ view, run }: { view: ControlView; run: ControlRun }) {
  const player = usePlayer(run.t);
  const { frame } = player;
  const fitTo = useMemo(() => run.q.filter((_, k) => k % 6 === 0), [run]);
  const ghosts = useMemo(() => (run.reference ? [run.reference[frame]] : []), [run, frame]);
  return (
    <ClockContext.Provider value={player.clock}>
      <div className="beside">
        <div>
          <Stage className="inset below" robot={view.robot} drawing={view.drawing} q={run.q[frame]} path={run.q} fitTo={fitTo} ghosts={ghosts} showFrames={false} label={`${run.name}: the arm on its way`} words={run.reference && "orange line: reference"} />
          <PlayerBar t={run.t} player={player} />
          <p>{run.sentence[0].toUpperCase() + run.sentence.slice(1)}.</p>
        </div>
        <RunCurves run={run} />
      </div>
    </ClockContext.Provider>
  );
}

const RunCurves = memo(function RunCurves({ run }: { run: ControlRun }) {
  const drawn = useMemo(() => run.curves.map((curves) => curves.values.map((values, k) => ({ label: curves.labels[k], values, colour: COLOURS[k % COLOURS.length] }))), [run]);
  return (
    <div>
      {run.curves.map((curves, k) => (
        <Plot key={curves.title} title={curves.title} unit={curves.unit} t={curves.t} height={190} group={`control-${run.name}`} series={drawn[k]} />
      ))}
    </div>
  );
});
