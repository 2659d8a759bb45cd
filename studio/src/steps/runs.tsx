import { useMemo, useState } from "react";
import { useCampaign } from "../campaign";
import { duration, Empty, Panel, percent, Scroll, SelectField, shown, units } from "../parts/bits";
import { EffortsOfTwo, gradeOf, LogChoice, useLogs } from "../parts/efforts";
import { ParameterName } from "../parts/names";
import { useStudio, useView } from "../studio";
import type { Effect, FitView, Job, JudgedLog } from "../types";

const SHOWN = ["identify", "calibrate", "excite", "control", "generate", "rehearse", "validate", "fleet"];
const WORDS: Record<string, string> = { identify: "identification", excite: "motion", generate: "code", rehearse: "rehearsal", validate: "validation", control: "control", fleet: "fleet" };
const PLACE: Record<string, string> = { identify: "/validate", excite: "/excite", control: "/control" };

export default function RunsStep() {
  const { project, path, go } = useStudio();
  const jobs = project.jobs.filter((job) => SHOWN.includes(job.kind));
  const fits = jobs.filter((job) => job.kind === "identify" && job.state === "done").map((job) => job.name);
  const a = fits.includes(path[1]) ? path[1] : fits[1];
  const b = fits.includes(path[2]) ? path[2] : fits[0];
  if (!jobs.length) return <Empty>Nothing has run yet in this folder.</Empty>;
  return (
    <div className="stack">
      <Panel title="All runs">
        <Scroll label="All runs">
          <table>
            <thead>
              <tr>
                <th scope="col">run</th>
                <th scope="col">what</th>
                <th scope="col">state</th>
                <th scope="col">begun</th>
                <th scope="col" className="number">
                  took
                </th>
                <th scope="col">result</th>
              </tr>
            </thead>
            <tbody>
              {jobs.map((job) => (
                <Row key={job.name} job={job} />
              ))}
            </tbody>
          </table>
        </Scroll>
      </Panel>
      {a && b && (
        <Panel title="Two side by side">
          <div className="bar">
            <SelectField label="first" value={a} options={fits} onChange={(name) => go(`/runs/${name}/${b}`)} />
            <SelectField label="second" value={b} options={fits} onChange={(name) => go(`/runs/${a}/${name}`)} />
          </div>
          <Compared a={a} b={b} />
        </Panel>
      )}
    </div>
  );
}

function Row({ job }: { job: Job }) {
  const { go } = useStudio();
  const place = job.state === "done" ? PLACE[job.kind] : undefined;
  return (
    <tr>
      <th scope="row" className="whole">
        {place ? (
          <a
            href={`${place}/${job.name}`}
            onClick={(e) => {
              e.preventDefault();
              go(`${place}/${job.name}`);
            }}
          >
            {job.name}
          </a>
        ) : (
          job.name
        )}
      </th>
      <td>{WORDS[job.kind]}</td>
      <td>
        <span className="state">
          <i className={`dot ${job.stale.length ? "stale" : job.state === "done" || job.state === "running" ? job.state : "failed"}`} aria-hidden="true" />
          {job.stale.length ? "not current" : job.state}
        </span>
      </td>
      <td className="whole">{new Date(1000 * job.started).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" })}</td>
      <td className="number">{duration(job)}</td>
      <td className="sentence">
        {job.state === "running" ? job.step : job.sentence}
        {job.stale.length > 0 && <span className="soft"> ({job.stale.join("; ")})</span>}
      </td>
    </tr>
  );
}

/** Curves of a log that both runs have. */
function CurvesOfTwo({ views, names }: { views: [FitView, FitView]; names: [string, string] }) {
  const [one, two] = views;
  const shared = one.logs.filter((log) => log.t.length && log.curves.predicted.length === one.joints.length && two.logs.some((other) => other.log === log.log && other.t.length && other.curves.predicted.length === one.joints.length));
  const [log, options, chosen, choose] = useLogs(shared);
  const other = two.logs.find((own) => own.log === log?.log);
  const pair = useMemo<[JudgedLog, JudgedLog] | null>(() => (log && other ? [log, other] : null), [log, other]);
  if (!pair) return null;
  return (
    <>
      <h3>Efforts as both predict them</h3>
      <LogChoice options={options} value={chosen} onChange={choose} />
      <EffortsOfTwo logs={pair} titles={names} joints={one.joints} group={names.join()} />
    </>
  );
}

/** Two-sided chance of a difference of so many deviations; Numerical Recipes' erfc, good to 1e-7. */
function chance(deviations: number): number {
  const x = deviations / Math.SQRT2, t = 1 / (1 + x / 2);
  const series = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277];
  return t * Math.exp(-x * x + series.reduceRight((sum, c) => sum * t + c, 0));
}

/** Names whose chance is below 5 % when all are tested at once (Holm), as `minertia compare` has it. */
function holm(names: string[], chanceOf: (name: string) => number): string[] {
  const order = [...names].sort((a, b) => chanceOf(a) - chanceOf(b));
  const stop = order.findIndex((name, k) => chanceOf(name) >= 0.05 / (order.length - k));
  const found = new Set(stop < 0 ? order : order.slice(0, stop));
  return names.filter((name) => found.has(name));
}

const Sides = ({ names, className }: { names: string[]; className: string }) =>
  names.map((name, k) => (
    <th key={k} scope="col" className={className}>
      {name}
    </th>
  ));

function Compared({ a, b }: { a: string; b: string }) {
  const { go } = useStudio();
  const { take } = useCampaign();
  const one = useView<FitView>(a), two = useView<FitView>(b);
  const [all, setAll] = useState(false);
  if (!one || !two) return null;
  const values = new Map(one.parameters.map((p) => [p.name, p]));
  const others = new Map(two.parameters.map((p) => [p.name, p]));
  const names = [...new Set([...values.keys(), ...others.keys()])];
  const off = (name: string) => {
    const x = values.get(name), y = others.get(name);
    if (!x || !y) return Infinity;
    return Math.abs(x.value - y.value) / Math.hypot(x.deviation ?? 0, y.deviation ?? 0);
  };
  const shared = names.filter((name) => Number.isFinite(off(name)));
  const alone = names.length - shared.length;
  const differing = holm(shared, (name) => chance(off(name)));
  const shownNames = all ? names : differing;
  const back = async (run: string) => {
    await take(run);
    go("/identify");
  };
  const rows: [string, (view: FitView) => string][] = [
    ["verdict", (v) => gradeOf(v.result.verdict)],
    ["residual, fitted", (v) => percent(v.result.training.relative)],
    ["residual, unseen", (v) => (v.result.validation.length ? percent(Math.max(...v.result.validation.map((r) => r.relative))) : "–")],
    ["estimator", (v) => v.result.estimator],
    ["parameters", (v) => String(v.parameters.length)],
    ["condition number", (v) => shown(v.result.condition, 3)],
    ["effects", (v) => (v.campaign?.model?.effects as Effect[] | null | undefined)?.map((e) => (typeof e === "string" ? e : String(e.kind))).join(", ") ?? "chosen"],
    ["low-pass", (v) => (typeof v.campaign?.filter?.cutoff_hz === "number" ? `${v.campaign.filter.cutoff_hz} Hz` : "chosen")],
    ...one.joints.map((joint, j) => [`fitted, ${joint}`, (v: FitView) => percent(v.result.training.per_joint[j]?.relative)] as [string, (view: FitView) => string]),
  ];
  return (
    <>
      <Scroll label="Two runs">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span className="hidden">what</span>
              </th>
              <Sides names={[a, b]} className="whole" />
            </tr>
          </thead>
          <tbody>
            {rows.map(([title, value]) => (
              <tr key={title} className={value(one) === value(two) ? undefined : "touched"}>
                <th scope="row">{title}</th>
                <td>{value(one)}</td>
                <td>{value(two)}</td>
              </tr>
            ))}
            <tr>
              <th scope="row">go back to its choices</th>
              {[one, two].map((view, k) => (
                <td key={k}>
                  <button type="button" className="whole" onClick={() => void back([a, b][k])} disabled={!view.campaign}>
                    Use again
                  </button>
                </td>
              ))}
            </tr>
          </tbody>
        </table>
      </Scroll>
      <CurvesOfTwo views={[one, two]} names={[a, b]} />
      <h3>
        {differing.length} of {shared.length} values differ (5 % by Holm over all of them)
        {alone > 0 && `, ${alone} ${alone === 1 ? "is" : "are"} in one run only`}{" "}
        <button type="button" className="plain" onClick={() => setAll(!all)}>
          {all ? "Only those" : "Show all"}
        </button>
      </h3>
      {shownNames.length > 0 && (
        <Scroll label="Values of two runs">
          <table>
            <thead>
              <tr>
                <th scope="col">parameter</th>
                <Sides names={[a, b]} className="number" />
                <th scope="col" className="number">
                  difference in deviations
                </th>
                <th scope="col">unit</th>
              </tr>
            </thead>
            <tbody>
              {shownNames.map((name) => {
                const x = values.get(name), y = others.get(name);
                return (
                  <tr key={name}>
                    <th scope="row">
                      <ParameterName name={name} />
                    </th>
                    <td className="number">{x ? `${shown(x.value)} ± ${shown(x.deviation, 2)}` : "–"}</td>
                    <td className="number">{y ? `${shown(y.value)} ± ${shown(y.deviation, 2)}` : "–"}</td>
                    <td className="number">{Number.isFinite(off(name)) ? shown(off(name), 2) : "–"}</td>
                    <td className="unit">{units((x ?? y)?.unit ?? "")}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}
