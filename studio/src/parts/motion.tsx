import { memo, useMemo } from "react";
import type { MotionView } from "../types";
import { CheckField, Facts, percent, shown, units, unitsOf } from "./bits";
import { useLook } from "./look";
import { ParameterName } from "./names";
import { ClockContext, type Player, PlayerBar, usePlayer } from "./player";
import { Plot } from "./plot";
import { Stage } from "./stage";
import { DataTable, Meter, numbers, Segment, Sentences } from "./table";

const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const QUANTITIES: Record<string, [string, string]> = { q: ["positions", "rad or m"], qd: ["velocities", "rad/s or m/s"], qdd: ["accelerations", "rad/s² or m/s²"] };
const POOR = 0.1;

export type PlayedView = Pick<MotionView, "joints" | "limits" | "postures" | "drawing" | "robot" | "floor" | "boxes" | "rooms">;

/** Postures with one joint at an end of its range and the others as they are now: how far a motion could go. */
function atLimits(view: PlayedView, now: number[]): number[][] {
  const ends = view.joints.flatMap((_, j) => [view.limits.lower[j], view.limits.upper[j]].map((end) => [j, end] as const));
  return ends.filter(([, end]) => end !== null).map(([j, end]) => now.map((value, k) => (k === j ? (end as number) : value)));
}

/** The motion played in three dimensions, with what stands around the robot. */
export function Played({ view, player }: { view: PlayedView; player: Player }) {
  const [capsules, setCapsules] = useLook("capsules", "off");
  const [limits, setLimits] = useLook("limits", "off");
  const { t, q } = view.postures;
  const { frame } = player;
  const fitTo = useMemo(() => q.filter((_, k) => k % 6 === 0), [q]);
  const boxes = useMemo(() => [...view.boxes, ...view.rooms], [view]);
  const ghosts = useMemo(() => (limits === "on" ? atLimits(view, q[frame]) : []), [limits, view, q, frame]);
  return (
    <>
      <Stage className="inset" robot={view.robot} drawing={view.drawing} q={q[frame]} path={q} fitTo={fitTo} showFrames={false} showCapsules={capsules === "on"} ghosts={ghosts} floor={view.floor} boxes={boxes} label={`Motion of ${view.robot.robot}`}>
        <CheckField label="capsules" value={capsules === "on"} onChange={(on) => setCapsules(on ? "on" : "off")} />
        {!view.drawing.has_loops && <CheckField label="show limits" value={limits === "on"} onChange={(on) => setLimits(on ? "on" : "off")} />}
      </Stage>
      <PlayerBar t={t} player={player} />
    </>
  );
}

/** The motion played beside its curves, which share its time. */
export function PlayedWithCurves({ view }: { view: MotionView }) {
  const player = usePlayer(view.postures.t);
  return (
    <ClockContext.Provider value={player.clock}>
      <div className="beside">
        <div>
          <Played view={view} player={player} />
        </div>
        <div>
          <MotionCurves view={view} />
        </div>
      </div>
    </ClockContext.Provider>
  );
}

/** A motion played without curves. */
export function PlayedAlone({ view }: { view: PlayedView }) {
  return <Played view={view} player={usePlayer(view.postures.t)} />;
}

/** What the motion promises in figures and sentences, and what it does not. */
export function MotionWords({ view }: { view: MotionView }) {
  const { result } = view;
  return (
    <>
      <Facts
        pairs={[
          ["condition number", shown(result.condition)],
          ["columns scaled", shown(result.scaled_condition)],
          ["duration", `${shown(result.duration)} s`],
        ]}
      />
      <Sentences texts={view.sentences.map((text) => units(text[0].toUpperCase() + text.slice(1)))} />
      {result.not_checked.length > 0 && (
        <div className="message warn">
          <b>Not protected</b>
          <span>{result.not_checked.join("; ")}</span>
        </div>
      )}
    </>
  );
}

export function LimitUse({ view }: { view: MotionView }) {
  const margins = view.result.margins as Record<string, number[] | null>;
  const used = (["position", "velocity", "acceleration", "effort"] as const).filter((key) => Array.isArray(margins[key]));
  const cell = (part: number) => (
    <>
      <Meter part={part} /> <span className="whole">{(100 * part).toFixed(0)} %</span>
    </>
  );
  return <DataTable label="Use of the limits" columns={["joint", ...used]} rows={view.joints.map((joint, j) => ({ key: joint, cells: [joint, ...used.map((key) => cell((margins[key] as number[])[j]))] }))} />;
}

export const MotionCurves = memo(function MotionCurves({ view }: { view: MotionView }) {
  const [quantity, setQuantity] = useLook("curve", "q");
  const [title, unit] = QUANTITIES[quantity] ?? QUANTITIES.q;
  const series = useMemo(() => (view.curves[quantity] ?? view.curves.q).map((values, j) => ({ label: view.joints[j], values, colour: COLOURS[j % COLOURS.length] })), [view, quantity]);
  return (
    <>
      <Segment label="Quantity" options={Object.entries(QUANTITIES).map(([key, [name]]) => ({ key, title: name }))} value={quantity} onChange={setQuantity} />
      <Plot title={title} unit={unitsOf(unit, view.robot.joints)} t={view.t} height={300} series={series} />
    </>
  );
});

/** What the motion promises for each base parameter. */
export function Deviations({ view, tall }: { view: MotionView; tall?: boolean }) {
  return (
    <>
      <p className="soft">Predicted deviation of each base parameter ({view.result.noise_basis}).</p>
      <DataTable
        label="Predicted deviations"
        tall={tall}
        columns={["parameter", numbers("deviation"), { title: "unit", className: "unit" }, numbers("of its size"), { title: <span className="hidden">bar</span> }]}
        rows={Object.entries(view.result.parameters).map(([name, { deviation, relative }]) => ({
          key: name,
          cells: [<ParameterName name={name} />, deviation === null ? "not shown" : shown(deviation, 3), units(view.units?.[name] ?? ""), percent(relative), relative !== null && <Meter part={relative} poor={relative > POOR} />],
        }))}
      />
    </>
  );
}
