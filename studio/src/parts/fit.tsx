import { memo, type ReactNode, useMemo } from "react";
import type { FitView, JudgedLog } from "../types";
import { ErrorArrowsOf } from "./arrows";
import { Facts, Panel, percent, shown } from "./bits";
import { CorrelationMap } from "./correlation";
import { CurveChoice, Efforts, Further, LogChoice, measureOf, Residuals, useCurveChoice, useLogs, Verdict } from "./efforts";
import { useLook } from "./look";
import { canLook, LOOKS, Patterns } from "./patterns";
import { ClockContext, PlayerBar, usePlayer } from "./player";
import { axisOf, isTime } from "./plot";
import { SignificanceCurve } from "./significance";
import { Stage } from "./stage";
import { Segment, Sentences } from "./table";
import { Values } from "./values";

/** The result of a fit of any kind as a workspace: verdict, robot, curves and tables, with one time for all of them. */
export function Fit({ view, name }: { view: FitView; name: string }) {
  const { result } = view;
  const logs = useLogs(view.logs);
  const motion = useMemo(() => motionOf(view, logs[0]), [view, logs[0]]);
  const player = usePlayer(motion?.t ?? logs[0]?.t ?? NOTHING);
  return (
    <ClockContext.Provider value={player.clock}>
      <div className="workspace">
        <div className="pane sticky">
          <Panel>
            <Verdict verdict={result.verdict} />
            <Facts
              pairs={[
                ["residual, fitted", percent(result.training.relative)],
                ["residual, validation", result.validation.length ? percent(Math.max(...result.validation.map((r) => r.relative))) : "no validation log"],
                ["parameters", result.count],
                ["condition number", shown(result.condition, 3)],
              ]}
            />
          </Panel>
          {motion && view.drawn && (
            <Panel>
              <Painted drawn={view.drawn} motion={motion} frame={player.frame} />
              <PlayerBar t={motion.t} player={player} />
            </Panel>
          )}
          {view.drawn && view.logs.some((log) => log.arrows) && (
            <Panel title="Errors on the robot">
              <ErrorArrowsOf drawn={view.drawn} logs={view.logs} />
            </Panel>
          )}
        </div>
        <div className="pane">
          <Curves view={view} logs={logs} group={name} />
          <Tables view={view} />
        </div>
      </div>
    </ClockContext.Provider>
  );
}

const NOTHING = [0];

/** Motion of a log: times, postures, and residuals over the rms effort of each joint. */
interface Motion { t: number[]; q: number[][]; residual: number[][]; worst: number; all: number[]; joints: number[] }

/** The motion of a log whose outputs are the coordinates of the robot; null for others. */
function motionOf(view: FitView, log: JudgedLog | undefined): Motion | null {
  const samples = log?.samples, robot = view.drawn?.robot;
  if (!log || !robot || !samples?.t || robot.coordinates.join() !== view.joints.join() || samples.q.some((own) => !own)) return null;
  const { t } = samples, size = log.curves.measured.map((values) => Math.sqrt(values.reduce<number>((sum, v) => sum + (v ?? 0) ** 2, 0) / (values.length || 1)) || 1);
  const residual = samples.residual.map((values, j) => values.map((v) => Math.abs(v ?? 0) / size[j]));
  return {
    t,
    q: t.map((_, k) => samples.q.map((own) => own?.[k] ?? 0)),
    residual,
    worst: residual.reduce((most, values) => Math.max(most, ...values), 0),
    all: log.residual.per_joint.map((joint) => joint.relative ?? 0),
    joints: robot.coordinates.map((joint) => robot.joints.findIndex((own) => own.name === joint)),
  };
}

const PAINTS = [
  { key: "now", title: "residual now" },
  { key: "log", title: "of the log" },
  { key: "off", title: "off" },
];

/** The robot as it moved in a log, with its links in the colour of their residuals. */
function Painted({ drawn, motion, frame }: { drawn: NonNullable<FitView["drawn"]>; motion: Motion; frame: number }) {
  const [mode, setMode] = useLook("paint", "now");
  const top = mode === "log" ? Math.max(...motion.all) : motion.worst;
  const paint = useMemo(() => {
    const found: (number | null)[] = drawn.robot.joints.map(() => null);
    if (mode !== "off") motion.joints.forEach((j, k) => (found[j] = (mode === "log" ? motion.all[k] : motion.residual[k][frame]) / (top || 1)));
    return found;
  }, [drawn, motion, frame, mode, top]);
  const fitTo = useMemo(() => motion.q.filter((_, k) => k % 8 === 0), [motion]);
  return (
    <Stage robot={drawn.robot} drawing={drawn.drawing} q={motion.q[frame]} path={motion.q} fitTo={fitTo} paint={paint} showFrames={false} label={`${drawn.robot.robot} as it moved, its links in the colour of their residuals`}>
      <Segment label="Paint" options={PAINTS} value={mode} onChange={setMode} />
      {mode !== "off" && (
        <span className="soft ramp-line">
          0 <i className="ramp" aria-hidden="true" /> {percent(top)} {mode === "log" ? "residual over effort" : "of the joint's rms effort"}
        </span>
      )}
    </Stage>
  );
}

/** Efforts over time, or what is left of them against speed, position and frequency. */
const Curves = memo(function Curves({ view, logs, group }: { view: FitView; logs: ReturnType<typeof useLogs>; group: string }) {
  const [log, options, chosen, choose] = logs;
  const [choice, setChoice] = useCurveChoice();
  const [look, setLook] = useLook("look", "time");
  if (!log) return null;
  const axis = axisOf(log.over);
  const looks = Object.keys(LOOKS).filter((key) => canLook(log, key));
  const shownLook = looks.includes(look) ? look : "time";
  return (
    <Panel className="curves" title={shownLook === "time" ? measureOf(view).curves : shownLook === "friction" ? "Friction" : "Residual"} tools={shownLook === "time" && <CurveChoice log={log} value={choice} onChange={setChoice} />}>
      <div className="bar">
        <Segment label="Look at" options={[{ key: "time", title: isTime(axis) ? "over time" : `over ${axis.name}s` }, ...looks.map((key) => ({ key, title: LOOKS[key].title }))]} value={shownLook} onChange={setLook} />
        <LogChoice options={options} value={chosen} onChange={choose} />
      </div>
      <p className="soft">{shownLook === "time" ? `${isTime(axis) ? "Point at a time to see the robot there; drag" : "Drag"} to zoom into all of them, double-click for the whole.` : LOOKS[shownLook].about}</p>
      <div className="curves-scroll" tabIndex={0} role="region" aria-label="Curves of all joints">
        {shownLook === "time" ? <Efforts log={log} joints={view.joints} choice={choice} group={group} height={140} /> : <Patterns log={log} joints={view.joints} look={shownLook} />}
      </div>
    </Panel>
  );
});

/** Tables of a fit, one at a time. */
const Tables = memo(function Tables({ view }: { view: FitView }) {
  const parts: { key: string; tab: string; title: string; body: ReactNode }[] = [
    {
      key: "residuals",
      tab: "residuals",
      title: `Residual over ${measureOf(view).word}`,
      body: (
        <>
          <Residuals view={view} />
          <p className="soft">{measureOf(view).about}</p>
        </>
      ),
    },
    { key: "values", tab: "values", title: `${view.parameters.length} values, estimator ${view.result.estimator}`, body: <Values parameters={view.parameters} /> },
    ...(view.sections ?? []).map((part, k) => ({ key: `part${k + 1}`, tab: part.title.toLowerCase(), title: part.title, body: <Further part={part} /> })),
  ];
  if (view.significance) parts.push({ key: "essential", tab: "essential", title: "Essential parameters", body: <SignificanceCurve view={view.significance} /> });
  if (view.correlations && view.correlations.names.length > 1) parts.push({ key: "correlations", tab: "correlations", title: "Correlations", body: <CorrelationMap data={view.correlations} /> });
  if (view.notes.length > 0) parts.push({ key: "files", tab: "files", title: "About the files", body: <Sentences texts={view.notes} /> });
  const [table, setTable] = useLook("table", "residuals");
  const part = parts.find(({ key }) => key === table) ?? parts[0];
  return (
    <Panel title={part.title} tools={<Segment label="Tables" options={parts.map(({ key, tab }) => ({ key, title: tab }))} value={part.key} onChange={setTable} />}>
      {part.body}
    </Panel>
  );
});
