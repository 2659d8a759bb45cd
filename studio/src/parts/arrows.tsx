import { useMemo, useState } from "react";
import type { DrawnRobot, ErrorArrows, JudgedLog } from "../types";
import { CheckField, shown } from "./bits";
import { LogChoice, useLogs } from "./efforts";
import { type Arrow, Scene } from "./scene";

const LONGEST = 0.2; // of the reach: the longest arrow
const WAYS = [
  { key: "before", title: "before correction", colour: "--nominal" },
  { key: "after", title: "after correction", colour: "--predicted" },
] as const;
const MILLIMETRES = 1e3;

const size = (v: (number | null)[]) => Math.hypot(...v.map((x) => x ?? 0));
const rms = (all: number[]) => Math.sqrt(all.reduce((sum, x) => sum + x * x, 0) / (all.length || 1));

/** 1, 2 or 5 times a power of ten, not above a number. */
function rounded(factor: number): number {
  const ten = 10 ** Math.floor(Math.log10(factor));
  return ten * (factor >= 5 * ten ? 5 : factor >= 2 * ten ? 2 : 1);
}

/** Errors of measured positions as arrows on the robot, before and after correction, in one of its postures. */
export function ErrorArrowsOf({ drawn, logs }: { drawn: DrawnRobot; logs: JudgedLog[] }) {
  const own = useMemo(() => logs.filter((log) => log.arrows), [logs]);
  const [log, options, chosen, choose] = useLogs(own);
  return log?.arrows ? (
    <>
      {options.length > 1 && <LogChoice options={options} value={chosen} onChange={choose} />}
      <Drawn key={chosen} drawn={drawn} data={log.arrows} />
    </>
  ) : null;
}

function Drawn({ drawn, data }: { drawn: DrawnRobot; data: ErrorArrows }) {
  const [posture, setPosture] = useState(0);
  const [show, setShow] = useState({ before: true, after: true });
  const lengths = useMemo(() => ({ before: data.before.map(size), after: data.after.map(size) }), [data]);
  const factor = useMemo(() => {
    const reach = data.at.reduce((most, p) => Math.max(most, size(p)), 0), longest = lengths.before.concat(lengths.after).reduce((most, x) => Math.max(most, x), 0);
    return longest > 0 ? rounded((LONGEST * (reach || 1)) / longest) : 1;
  }, [data, lengths]);
  const arrows = useMemo(
    () => WAYS.flatMap(({ key, colour }): Arrow[] => (show[key] ? data.at.map((at, k) => ({ from: at, way: data[key][k].map((x) => factor * (x ?? 0)), colour })) : [])),
    [data, show, factor],
  );
  const fitTo = useMemo(() => data.q.filter((_, k) => k % Math.ceil(data.q.length / 6) === 0), [data]);
  const here = data.posture.flatMap((p, k) => (p === posture ? [k] : []));
  const told = (key: "before" | "after", of: number[]) => `${shown(MILLIMETRES * rms(of.map((k) => lengths[key][k])), 3)} mm`;
  const all = data.at.map((_, k) => k);
  return (
    <>
      <div className="stage inset">
        <Scene robot={drawn.robot} drawing={drawn.drawing} q={data.q[posture]} arrows={arrows} fitTo={fitTo} showFrames={false} label={`${drawn.robot.robot} with errors of measured positions as arrows; drag to turn`} />
      </div>
      <p className="soft">Arrows from the predicted to the measured position, {factor} times as long as the error. Drag to turn, scroll to zoom.</p>
      <div className="bar">
        <span className="checks">
          {WAYS.map(({ key, title, colour }) => (
            <CheckField key={key} label={<><i className="swatch" style={{ background: `var(${colour})` }} /> {title}: {told(key, all)} rms</>} value={show[key]} onChange={(on) => setShow({ ...show, [key]: on })} />
          ))}
        </span>
      </div>
      <label className="posture">
        Posture {data.numbers[posture]}: {told("before", here)} before, {told("after", here)} after correction
        <input type="range" min={0} max={data.q.length - 1} value={posture} onChange={(event) => setPosture(Number(event.target.value))} />
      </label>
    </>
  );
}
