import { useMemo, useState } from "react";
import type { FitParameter } from "../types";
import { percent, shown, units } from "./bits";
import { ParameterName, Relation } from "./names";
import { type Column, DataTable, numbers } from "./table";

const POOR = 0.3;

/** Identified values with their 95 % intervals, units and relations. */
export function Values({ parameters }: { parameters: FitParameter[] }) {
  const [sort, setSort] = useState("order");
  const rows = useMemo(
    () => (sort === "order" ? parameters : [...parameters].sort((a, b) => (b.relative ?? Infinity) - (a.relative ?? Infinity))),
    [parameters, sort],
  );
  const hasNominal = parameters.some((p) => p.nominal !== null);
  const hasRelation = parameters.some((p) => p.relation !== p.name);
  const columns: (string | Column)[] = [
    "parameter",
    numbers("value"),
    numbers("deviation"),
    numbers("relative"),
    ...(hasNominal ? [numbers("nominal")] : []),
    { title: "unit", className: "unit" },
    { title: "95 % interval", className: "bar-cell" },
    ...(hasRelation ? [{ title: "relation", className: "relation last" }] : []),
  ];
  return (
    <>
      <p className="soft">
        Bars: 95 % interval of each value, on its own scale{hasNominal && "; dotted: the file's own value"}; the thin line is zero. Values known to no better than 30 % are marked.{" "}
        <button type="button" className="plain" onClick={() => setSort(sort === "order" ? "worst" : "order")}>
          {sort === "order" ? "Least certain first" : "In order of the links"}
        </button>
      </p>
      <DataTable
        label="Identified values"
        columns={columns}
        rows={rows.map((p) => ({
          key: p.name,
          cells: [
            <ParameterName name={p.name} />,
            shown(p.value),
            p.class === "fixed" ? "given" : shown(p.deviation, 2),
            p.class === "fixed" ? "" : <span className={p.relative === null || p.relative > POOR ? "poor" : undefined}>{percent(p.relative)}</span>,
            ...(hasNominal ? [shown(p.nominal)] : []),
            units(p.unit),
            <Interval low={p.interval[0]} high={p.interval[1]} value={p.value} before={p.nominal} />,
            ...(hasRelation ? [p.relation === p.name ? "" : <Relation text={p.relation} />] : []),
          ],
        }))}
      />
    </>
  );
}

/** An interval and its value on a scale of its own, which holds zero and the value before. */
export function Interval({ low, high, value, before = null }: { low: number | null; high: number | null; value: number; before?: number | null }) {
  if (low === null || high === null) return null;
  const points = [low, high, 0, value, ...(before === null ? [] : [before])];
  const min = Math.min(...points), max = Math.max(...points), span = max - min || 1;
  const at = (v: number) => `${4 + (92 * (v - min)) / span}%`;
  return (
    <div className="interval" role="img" aria-label={`from ${shown(low)} to ${shown(high)}`} title={`${shown(low)} to ${shown(high)}`}>
      <i className="zero" style={{ left: at(0) }} />
      <i className="range" style={{ left: at(low), width: `${(92 * (high - low)) / span}%` }} />
      {before !== null && <i className="before" style={{ left: at(before) }} />}
      <i className="value" style={{ left: at(value) }} />
    </div>
  );
}
