import { useMemo, useState } from "react";
import { Facts, percent, shown, units } from "../parts/bits";
import { EffortsOfSome, gradeOf, LogChoice, measureOf, useLogs } from "../parts/efforts";
import { ParameterName } from "../parts/names";
import { DataTable, numbers } from "../parts/table";
import type { JudgedLog, MeasureData, ResidualsData, VerdictData } from "../types";
import { Document, type PageData } from "./shell";

interface Side { value: number; deviation: number; interval: [number, number]; class: string }
interface Compared { name: string; first: Side | null; second: Side | null; apart: number | null; p: number | null; differs: boolean }
interface ModelData { title: string; estimator: string | null; count: number | null; condition: number | null; training: ResidualsData | null; validation: ResidualsData[] | null; verdict: VerdictData | null; effects: string[]; physical: boolean }
interface ComparisonView { robot: string; models: [ModelData, ModelData]; parameters: Compared[]; sentences: string[]; settings: Record<string, [string, string]>; units: Record<string, string>; measure: MeasureData; joints: string[]; logs: JudgedLog[][] }

export function ComparisonPage({ data }: { data: PageData<ComparisonView> }) {
  const { view } = data;
  const drawn = view.logs.length > 0 && view.logs[0].some((log) => log.t.length > 0);
  const both = view.parameters.filter((p) => p.first && p.second), settings = Object.entries(view.settings);
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">
            <span className="swatch first" aria-hidden="true" /> <b>{view.models[0].title}</b> and <span className="swatch second" aria-hidden="true" /> <b>{view.models[1].title}</b>
          </p>
          {view.sentences.map((sentence) => (
            <p key={sentence}>{sentence}.</p>
          ))}
          <Facts
            pairs={[
              ["values that differ", `${both.filter((p) => p.differs).length} of ${both.length}`],
              ["residual, fitted", view.models.map((m) => percent(m.training?.relative)).join(" and ")],
              ["residual, validation", view.models.map((m) => unseen(m)).join(" and ")],
              ["set differently", settings.length],
            ]}
          />
        </>
      }
      parts={[
        view.logs.length > 0 && { id: "residuals", title: `Residual over ${measureOf(view).word}, predicted`, body: <ResidualsOfTwo view={view} /> },
        drawn && { id: "efforts", title: `${measureOf(view).curves} as both predict them`, body: <CurvesOfTwo view={view} /> },
        { id: "models", title: "Models", body: <Models models={view.models} /> },
        { id: "values", title: "Values", body: <ValuesOfTwo view={view} /> },
        settings.length > 0 && {
          id: "settings",
          title: "Set differently",
          body: <DataTable label="Set differently" columns={["setting", ...view.models.map((m) => m.title)]} rows={settings.map(([name, pair]) => ({ key: name, cells: [name, ...pair.map((text) => text || "–")] }))} />,
        },
      ]}
    />
  );
}

function unseen(model: ModelData): string {
  const all = (model.validation ?? []).map((r) => r.relative).filter((v): v is number => v !== null);
  return all.length ? percent(Math.max(...all)) : "–";
}

function ResidualsOfTwo({ view }: { view: ComparisonView }) {
  const rows = view.logs[0].flatMap((_, k) =>
    view.logs.map((own, m) => ({
      key: `${k} ${m}`,
      cells: [m === 0 ? own[k].log : <span className="hidden">{own[k].log}</span>, view.models[m].title, percent(own[k].residual.relative), ...own[k].residual.per_joint.map((joint) => <span title={`rmse ${shown(joint.rmse)}`}>{percent(joint.relative)}</span>)],
    })),
  );
  return (
    <>
      <p className="soft">{measureOf(view).about} Nothing was fitted to these logs here.</p>
      <DataTable label="Residuals of both models by log and output" columns={["log", "model", numbers("all"), ...view.joints.map(numbers)]} rows={rows} />
    </>
  );
}

function CurvesOfTwo({ view }: { view: ComparisonView }) {
  const [log, options, chosen, choose] = useLogs(view.logs[0]);
  const titles = useMemo(() => view.models.map((m) => m.title), [view]);
  const both = useMemo(() => (log ? view.logs.map((own) => own[view.logs[0].indexOf(log)]) : []), [log, view]);
  return (
    <>
      <div className="bar">
        <LogChoice options={options} value={chosen} onChange={choose} />
      </div>
      <EffortsOfSome logs={both} titles={titles} joints={view.joints} group="efforts" />
    </>
  );
}

function ValuesOfTwo({ view }: { view: ComparisonView }) {
  const [sorted, setSorted] = useState(true);
  const rows = sorted ? [...view.parameters].sort((a, b) => (b.apart ?? Infinity) - (a.apart ?? Infinity)) : view.parameters;
  return (
    <>
      <p className="soft">
        Difference over its standard deviation, for independent fits. Bars: both 95 % intervals on one scale per parameter.{" "}
        <button type="button" className="plain" onClick={() => setSorted(!sorted)}>
          {sorted ? "In order of the links" : "Largest difference first"}
        </button>
      </p>
      <DataTable
        label="Values of two models"
        columns={["parameter", ...view.models.map((m) => numbers(m.title)), numbers("difference in deviations"), { title: "unit", className: "unit" }, { title: "95 % intervals", className: "bar-cell" }]}
        rows={rows.map((p) => ({
          key: p.name,
          cells: [
            <ParameterName name={p.name} />,
            stated(p.first),
            stated(p.second),
            <span className={p.differs ? "poor" : undefined}>{p.apart === null ? (p.first && p.second ? "fixed apart" : "only in one") : shown(p.apart, 2)}</span>,
            units(view.units[p.name] ?? ""),
            <Pair first={p.first} second={p.second} />,
          ],
        }))}
      />
    </>
  );
}

const stated = (side: Side | null) => (side ? `${shown(side.value)} ± ${shown(side.deviation, 2)}` : "–");

/** Two intervals one below the other, on one scale. */
function Pair({ first, second }: { first: Side | null; second: Side | null }) {
  const sides = [first, second].filter((side): side is Side => !!side);
  const ends = sides.flatMap((side) => [...side.interval, side.value]);
  const min = Math.min(...ends), span = Math.max(...ends) - min || 1;
  const at = (v: number) => `${4 + (92 * (v - min)) / span}%`;
  return (
    <div className="interval pair" role="img" aria-label={sides.map((side) => `from ${shown(side.interval[0])} to ${shown(side.interval[1])}`).join(", ")}>
      {[first, second].map(
        (side, k) =>
          side && (
            <span key={k} className={k ? "second" : "first"}>
              <i className="range" style={{ left: at(side.interval[0]), width: `${(92 * (side.interval[1] - side.interval[0])) / span}%` }} />
              <i className="value" style={{ left: at(side.value) }} />
            </span>
          ),
      )}
    </div>
  );
}

function Models({ models }: { models: [ModelData, ModelData] }) {
  const joints = models[0].training?.per_joint.map((joint) => joint.joint) ?? [];
  const rows: [string, (model: ModelData) => string][] = [
    ["verdict", (m) => (m.verdict ? gradeOf(m.verdict) : "–")],
    ["estimator", (m) => m.estimator ?? "–"],
    ["parameters", (m) => String(m.count ?? "–")],
    ["condition number", (m) => shown(m.condition, 3)],
    ["a robot can have these values", (m) => (m.physical ? "yes" : "no")],
    ["effects", (m) => m.effects.join(", ") || "none"],
    ["residual, fitted", (m) => percent(m.training?.relative)],
    ...joints.map((joint, j) => [`fitted, ${joint}`, (m: ModelData) => percent(m.training?.per_joint[j]?.relative)] as [string, (m: ModelData) => string]),
    ["residual, validation", unseen],
  ];
  return (
    <DataTable
      label="Two models"
      columns={[{ title: <span className="hidden">what</span> }, ...models.map((m) => m.title)]}
      rows={rows.map(([title, value]) => ({ key: title, className: value(models[0]) === value(models[1]) ? undefined : "touched", cells: [title, ...models.map(value)] }))}
    />
  );
}
