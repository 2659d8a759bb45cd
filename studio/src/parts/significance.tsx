import { useMemo, useState } from "react";
import type { CurvePoint, Rule, SignificanceView } from "../types";
import { Facts, percent, shown } from "./bits";
import { ParameterName } from "./names";
import { type Axis, Plot, type Series } from "./plot";

const COUNT: Axis = { name: "number of values", unit: "" };

/** Number of values against the error on motion that was not fitted, and against operations; a slider goes through it. */
export function SignificanceCurve({ view }: { view: SignificanceView }) {
  const rule = view.elimination;
  const points = useMemo(() => [...rule.curve].sort((a, b) => a.count - b.count), [rule]);
  const [count, setCount] = useState(rule.essential.length);
  const x = useMemo(() => points.map((p) => p.count), [points]);
  const errors = useMemo<Series[]>(
    () => [
      { label: view.is_unseen ? "validation" : "held out", values: points.map((p) => scaled(p.left_out)), colour: "--nominal" },
      { label: "fitted", values: points.map((p) => scaled(p.training)), colour: "--predicted" },
    ],
    [points, view.is_unseen],
  );
  const counted = useMemo(() => points.filter((p) => p.multiplications !== undefined), [points]);
  const costs = useMemo(() => ({ x: counted.map((p) => p.count), series: operations(counted) }), [counted]);
  if (points.length < 2) return null;
  const here = points.find((p) => p.count === count) ?? points[points.length - 1];
  const cost = at(counted, count);
  const gone = leaving(rule, count);
  return (
    <>
      <p className="slider-line">
        <label htmlFor="count">Number of values</label>
        <input id="count" type="range" min={x[0]} max={x[x.length - 1]} value={count} onChange={(e) => setCount(Number(e.target.value))} />
        <output htmlFor="count">
          {count} of {x[x.length - 1]}
        </output>
        <button type="button" onClick={() => setCount(rule.essential.length)}>
          Where the test stops ({rule.essential.length})
        </button>
      </p>
      <Facts
        pairs={[
          [view.is_unseen ? "error on validation logs" : "error on held-out blocks", percent(here.left_out)],
          ["error, fitted", percent(here.training)],
          ["multiplications", cost ? `${cost.exact ? "" : "about "}${cost.multiplications}` : "–"],
          ["additions", cost ? `${cost.exact ? "" : "about "}${cost.additions}` : "–"],
        ]}
      />
      <p className="soft dropped-line">
        {gone.length === 0
          ? "All values are essential."
          : gone.length === 1
            ? "Left out: "
            : `Removed (${gone.length}), in this order: `}
        {gone.map((name, k) => (
          <span key={name}>
            {k > 0 && ", "}
            <ParameterName name={name} />
          </span>
        ))}
      </p>
      <div className="plots">
        <Plot title="Error against the number of values" unit="% of the effort" t={x} series={errors} over={COUNT} height={220} mark={count} log={steep(errors)} />
        {counted.length > 1 && (
          <Plot
            title="Operations of the inverse dynamics"
            unit="per call"
            t={costs.x}
            height={220}
            over={COUNT}
            mark={count}
            series={costs.series}
          />
        )}
      </div>
      <p className="soft">
        By {rule.rule}: {rule.essential.length} of {rule.count} values stay, condition number {shown(rule.condition_before, 3)} to {shown(rule.condition_after, 3)}.
      </p>
    </>
  );
}

function operations(counted: CurvePoint[]): Series[] {
  return [
    { label: "multiplications", values: counted.map((p) => p.multiplications ?? null), colour: "--c3" },
    { label: "additions", values: counted.map((p) => p.additions ?? null), colour: "--c6", dash: [6, 4] },
  ];
}

const scaled = (v: number | null) => (v === null || v <= 0 ? null : 100 * v);

/** Whether errors span so much that a linear axis would hide the good end. */
function steep(series: Series[]): boolean {
  const all = series.flatMap((s) => s.values).filter((v): v is number => v !== null);
  return Math.max(...all) > 8 * Math.min(...all);
}

/** Values that are gone with so many left, in the order in which they went. */
function leaving(rule: Rule, count: number): string[] {
  return rule.curve.filter((p) => p.dropped !== null && p.count >= count).sort((a, b) => b.count - a.count).map((p) => p.dropped as string);
}

/** Operations with so many values, between the two counts nearest to it. */
function at(points: { count: number; multiplications?: number; additions?: number }[], count: number) {
  const after = points.findIndex((p) => p.count >= count);
  if (after < 0) return null;
  const b = points[after], a = points[Math.max(0, after - 1)];
  const part = b.count === a.count ? 1 : (count - a.count) / (b.count - a.count);
  const mix = (key: "multiplications" | "additions") => Math.round((a[key] ?? 0) + part * ((b[key] ?? 0) - (a[key] ?? 0)));
  return { multiplications: mix("multiplications"), additions: mix("additions"), exact: b.count === count };
}
