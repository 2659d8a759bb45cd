import { memo, useCallback, useRef } from "react";
import type { BaseView, JointData } from "../types";
import { Scroll } from "./bits";

const MARKS = { alone: "●", combination: "+", none: "–" };
const MANY = 16; // links whose table scrolls by itself
const nobody = () => undefined;

/** A slider for each coordinate of a robot. */
export function Sliders({ joints, names, q, onChange, onPoint }: {
  joints: JointData[];
  names: string[];
  q: number[];
  onChange: (q: number[]) => void;
  onPoint: (joint: number | null) => void;
}) {
  const now = useRef(q);
  now.current = q;
  const move = useCallback((k: number, value: number) => onChange(now.current.map((v, i) => (i === k ? value : v))), [onChange]);
  return (
    <div className="sliders">
      {names.map((name, k) => {
        const j = joints.findIndex((joint) => joint.name === name);
        return <Slider key={name} k={k} j={j} name={name} joint={joints[j]} value={q[k] ?? 0} move={move} onPoint={onPoint} />;
      })}
    </div>
  );
}

/** One slider, not drawn again as others move. */
const Slider = memo(function Slider({ k, j, name, joint, value, move, onPoint }: {
  k: number;
  j: number;
  name: string;
  joint: JointData | undefined;
  value: number;
  move: (k: number, value: number) => void;
  onPoint: (joint: number | null) => void;
}) {
  const slides = joint?.kind === "prismatic";
  const low = joint?.limits.lower ?? (slides ? -0.5 : -Math.PI);
  const high = joint?.limits.upper ?? (slides ? 0.5 : Math.PI);
  return (
    <div className="slider" onPointerEnter={() => onPoint(j)} onPointerLeave={() => onPoint(null)}>
      <label htmlFor={`q${k}`} title={name}>
        {name}
      </label>
      <input id={`q${k}`} type="range" min={low} max={high} step={(high - low) / 500} value={value} onChange={(e) => move(k, Number(e.target.value))} />
      <output htmlFor={`q${k}`}>{slides ? `${value.toFixed(3)} m` : `${((value * 180) / Math.PI).toFixed(1)}°`}</output>
    </div>
  );
});

/** The class of every standard parameter, link by link; not drawn again as sliders move. */
export const ClassGrid = memo(function ClassGrid({ base, joints, onPoint = nobody }: { base: BaseView; joints: JointData[]; onPoint?: (joint: number | null) => void }) {
  const parts = base.columns.map((name) => /^(.*?)(\d+)$/.exec(name)).filter((m) => m !== null);
  const symbols = [...new Set(parts.map((m) => m[1]))];
  const links = [...new Set(parts.map((m) => Number(m[2])))].sort((a, b) => a - b);
  return (
    <>
      <p className="legend">
        {(["alone", "combination", "none"] as const).map((kind) => (
          <span key={kind} className={`key ${kind}`}>
            <b aria-hidden="true">{MARKS[kind]}</b> {kind}: {base.class_words[kind]} ({base.class_counts[kind]})
          </span>
        ))}
      </p>
      <Scroll label="Classes of all parameters" tall={links.length > MANY}>
        <table className="grid">
          <thead>
            <tr>
              <th scope="col">link</th>
              {symbols.map((symbol) => (
                <th scope="col" key={symbol}>
                  {symbol}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {links.map((link) => (
              <tr key={link} onPointerEnter={() => onPoint(link > 0 ? link - 1 : null)} onPointerLeave={() => onPoint(null)}>
                <th scope="row">
                  {link} <small>{link === 0 ? "base" : (joints[link - 1]?.link ?? joints[link - 1]?.name)}</small>
                </th>
                {symbols.map((symbol) => {
                  const kind = base.classes[`${symbol}${link}`];
                  return kind ? (
                    <td key={symbol} className={kind} title={`${symbol}${link}: ${base.class_words[kind]}`}>
                      <span aria-hidden="true">{MARKS[kind]}</span>
                      <span className="hidden">{kind}</span>
                    </td>
                  ) : (
                    <td key={symbol} />
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
});
