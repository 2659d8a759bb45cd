import { Fragment, type ReactNode, useEffect, useMemo, useState } from "react";
import { deleteRun, getView, labelRun } from "../api";
import { useCampaign } from "../campaign";
import { duration, Empty, LabelForm, Panel, percent, Scroll, shown, Tags, units } from "../parts/bits";
import { EffortsOfSome, gradeOf, LogChoice, useLogs, verdictLines } from "../parts/efforts";
import { useLook } from "../parts/look";
import { ParameterName } from "../parts/names";
import { useEditing, useStudio } from "../studio";
import type { Effect, FitView, Job, JudgedLog, RunSummary } from "../types";

const WORDS: Record<string, string> = { identify: "identification", calibrate: "calibration", wrench: "tool on a sensor", excite: "trajectory", generate: "code", rehearse: "rehearsal", validate: "validation", control: "control", fleet: "fleet" };
const FITS = ["identify", "calibrate", "wrench"]; // kinds with a verdict
const PLACE: Record<string, string> = { identify: "/validate", calibrate: "/calibrate", wrench: "/wrench", excite: "/excite", control: "/control" };
const MOST = 8; // runs side by side: as many as there are colours

const summaryOf = (job: Job) => (job.summary && "robot" in job.summary ? (job.summary as RunSummary) : null);
const titleOf = (job: Job) => job.title || job.name;
const robotOf = (job: Job) => summaryOf(job)?.robot ?? job.made_of.robot?.title ?? "";
/** What was set, and what was found where that was left open. */
const chosen = (job: Job, key: string, text: string) => (text && summaryOf(job)?.chosen.includes(key) ? `${text} (chosen)` : text);
const effectsOf = (job: Job) => chosen(job, "effects", summaryOf(job)?.effects.map((word) => word.replaceAll("_", " ")).join(", ") ?? "");
const cutoffOf = (job: Job) => chosen(job, "cutoff_hz", summaryOf(job)?.cutoff_hz == null ? "" : `${shown(summaryOf(job)!.cutoff_hz, 3)} Hz`);
const verdictOf = (job: Job) => (job.state !== "done" ? job.state : [job.grade && gradeOf({ grade: job.grade, good: job.grade === "good", reasons: [] }), job.stale.length && "not current"].filter(Boolean).join(", ") || "done");

interface Shown { key: string; title: string; of: (job: Job) => string | number | null; number?: boolean }
const COLUMNS: Shown[] = [
  { key: "run", title: "run", of: titleOf },
  { key: "what", title: "what", of: (job) => WORDS[job.kind] },
  { key: "robot", title: "robot", of: robotOf },
  { key: "effects", title: "effects", of: effectsOf },
  { key: "cutoff", title: "cut-off", of: (job) => summaryOf(job)?.cutoff_hz ?? null },
  { key: "fitted", title: "fitted", of: (job) => summaryOf(job)?.training ?? null, number: true },
  { key: "validation", title: "validation", of: (job) => summaryOf(job)?.validation ?? null, number: true },
  { key: "verdict", title: "verdict", of: verdictOf },
  { key: "begun", title: "begun", of: (job) => job.started },
  { key: "took", title: "took", of: (job) => (job.ended ?? Date.now() / 1000) - job.started, number: true },
];

export default function RunsStep() {
  const { project, path, go } = useStudio();
  const jobs = project.jobs.filter((job) => job.kind in WORDS);
  const [find, setFind] = useLook("find", "");
  const [sort, setSort] = useLook("sort", "-begun");
  const fits = jobs.filter((job) => FITS.includes(job.kind) && job.state === "done");
  const named = path.slice(1).filter((name) => fits.some((job) => job.name === name));
  const picked = path.length > 1 ? named : (alike(fits) ?? []).slice(0, 2).map((job) => job.name).reverse();
  const pick = (names: string[]) => go(`/${["runs", ...(names.length ? names : ["none"])].join("/")}${window.location.search}`);
  const wanted = find.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (job: Job) => [job.name, ...COLUMNS.slice(0, 4).map((column) => column.of(job)), verdictOf(job), job.sentence, ...(job.tags ?? [])].join(" ").toLowerCase();
  const rows = sorted(jobs.filter((job) => wanted.every((word) => text(job).includes(word))), sort);
  if (!jobs.length) return <Empty>Nothing has run yet in this folder.</Empty>;
  return (
    <div className="stack">
      <Panel
        title={rows.length === jobs.length ? `All runs` : `${rows.length} of ${jobs.length} runs`}
        tools={<input type="search" aria-label="Filter runs" placeholder="filter: a word, a tag, a robot" value={find} onChange={(e) => setFind(e.target.value)} />}
      >
        <Scroll label="All runs">
          <table className="runs">
            <thead>
              <tr>
                <th scope="col">
                  <span className="hidden">compare</span>
                </th>
                {COLUMNS.map(({ key, title, number }) => (
                  <th scope="col" key={key} className={number ? "number" : undefined} aria-sort={sort === key ? "ascending" : sort === `-${key}` ? "descending" : undefined}>
                    <button type="button" className="plain sort" onClick={() => setSort(sort === key ? `-${key}` : key)}>
                      {title}
                      {sort.replace("-", "") === key && <span aria-hidden="true">{sort === key ? " ↑" : " ↓"}</span>}
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((job) => (
                <Row key={job.name} job={job} isFit={fits.includes(job)} isPicked={picked.includes(job.name)} pick={(on) => pick(on ? [...picked, job.name].slice(-MOST) : picked.filter((name) => name !== job.name))} />
              ))}
            </tbody>
          </table>
        </Scroll>
        {fits.length > 1 && <p className="soft">Mark identifications to compare them, up to {MOST}.</p>}
      </Panel>
      {picked.length > 1 && <Compared key={picked.join()} jobs={picked.map((name) => fits.find((job) => job.name === name)!)} />}
    </div>
  );
}

/** Fits of the newest kind of which there are several. */
const alike = (fits: Job[]) => fits.map((one) => fits.filter((job) => job.kind === one.kind)).find((same) => same.length > 1);

function sorted(jobs: Job[], sort: string): Job[] {
  const column = COLUMNS.find(({ key }) => key === sort.replace("-", "")) ?? COLUMNS[8], way = sort.startsWith("-") ? -1 : 1;
  const compared = (a: string | number | null, b: string | number | null) => (a === null || a === "" ? (b === null || b === "" ? 0 : 1) : b === null || b === "" ? -1 : way * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
  return [...jobs].sort((a, b) => compared(column.of(a), column.of(b)));
}

function Row({ job, isFit, isPicked, pick }: { job: Job; isFit: boolean; isPicked: boolean; pick: (on: boolean) => void }) {
  const { go } = useStudio();
  const { editing, setEditing, done } = useEditing();
  const place = job.state === "done" ? PLACE[job.kind] : undefined, summary = summaryOf(job);
  const dot = job.stale.length ? "stale" : job.state === "done" || job.state === "running" ? job.state : "failed";
  return (
    <>
      <tr>
        <td>{isFit && <input type="checkbox" aria-label={`compare ${titleOf(job)}`} checked={isPicked} onChange={(e) => pick(e.target.checked)} />}</td>
        <th scope="row" className="whole">
          {place ? (
            <a
              href={`${place}/${job.name}`}
              onClick={(e) => {
                e.preventDefault();
                go(`${place}/${job.name}`);
              }}
            >
              {titleOf(job)}
            </a>
          ) : (
            titleOf(job)
          )}
          {job.title && <small className="soft"> {job.name}</small>}{" "}
          {job.state !== "running" && (
            <button type="button" className="plain" aria-expanded={editing} aria-label={`Edit ${titleOf(job)}: name, tags, delete`} onClick={() => setEditing(!editing)}>
              Edit
            </button>
          )}
          <div>
            <Tags tags={job.tags} />
          </div>
        </th>
        <td>{WORDS[job.kind]}</td>
        <td>{robotOf(job)}</td>
        <td className="effects">{effectsOf(job)}</td>
        <td>{cutoffOf(job)}</td>
        <td className="number">{summary ? percent(summary.training) : ""}</td>
        <td className="number">{summary ? percent(summary.validation) : ""}</td>
        <td title={[summary?.predicts, summary?.knows, job.sentence, ...job.stale].filter(Boolean).join("; ")}>
          <span className="state">
            <i className={`dot ${dot}`} aria-hidden="true" />
            {verdictOf(job)}
          </span>
        </td>
        <td className="when">{new Date(1000 * job.started).toLocaleString(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" })}</td>
        <td className="number">{duration(job)}</td>
      </tr>
      {editing && (
        <tr>
          <td />
          <td colSpan={COLUMNS.length}>
            <LabelForm what={job.name} title={titleOf(job)} own={job.name} tags={job.tags ?? []} onSave={(title, tags) => void done(labelRun(job.name, title, tags))} onDelete={() => void done(deleteRun(job.name))} danger={["Delete", "Delete with its files"]} />
            <p className="soft">
              {job.sentence}
              {job.stale.length > 0 && ` (${job.stale.join("; ")})`}
            </p>
          </td>
        </tr>
      )}
    </>
  );
}

/** Curves of a log that all runs have. */
function CurvesOfSome({ views, names }: { views: FitView[]; names: string[] }) {
  const [one, ...others] = views;
  const isDrawn = (log: JudgedLog) => log.t.length > 0 && log.curves.predicted.length === one.joints.length;
  const shared = useMemo(() => one.logs.filter((log) => isDrawn(log) && others.every((view) => view.logs.some((other) => other.log === log.log && isDrawn(other)))), [views]); // eslint-disable-line react-hooks/exhaustive-deps
  const [log, options, own, choose] = useLogs(shared);
  const all = useMemo(() => (log ? [log, ...others.map((view) => view.logs.find((other) => other.log === log.log)!)] : null), [log, views]); // eslint-disable-line react-hooks/exhaustive-deps
  if (!all) return null;
  return (
    <>
      <h3>{names.length === 2 ? "Efforts as both predict them" : "Efforts as all predict them"}</h3>
      <LogChoice options={options} value={own} onChange={choose} />
      <EffortsOfSome logs={all} titles={names} joints={one.joints} group={names.join()} />
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

/** Views of some runs, once all of them are here. */
function useViews(jobs: Job[]): FitView[] | null {
  const { say } = useStudio();
  const [views, setViews] = useState<FitView[] | null>(null);
  const key = jobs.map((job) => job.name).join();
  useEffect(() => {
    let wanted = true;
    Promise.all(key.split(",").map((name) => getView<FitView>(name))).then(
      (found) => wanted && setViews(found),
      (error: Error) => wanted && say(error.message),
    );
    return () => {
      wanted = false;
    };
  }, [key, say]);
  return views;
}

function Compared({ jobs }: { jobs: Job[] }) {
  const { go } = useStudio();
  const { take } = useCampaign();
  const views = useViews(jobs), names = useMemo(() => jobs.map(titleOf), [jobs.map(titleOf).join()]); // eslint-disable-line react-hooks/exhaustive-deps
  if (!views) return null;
  const back = async (run: string) => {
    await take(run);
    go("/identify");
  };
  const stated = (view: FitView) => (view.campaign?.model?.effects as Effect[] | null | undefined)?.map((e) => (typeof e === "string" ? e : String(e.kind))).join(", ");
  const line = (k: number) => (_: Job, view: FitView) => verdictLines(view.result.verdict)[k][1];
  const rows: [string, (job: Job, view: FitView) => string][] = [
    ["verdict", (_, v) => gradeOf(v.result.verdict)],
    [verdictLines(views[0].result.verdict)[0][0].toLowerCase(), line(0)],
    ["parameter accuracy", line(1)],
    ["robot", (job, v) => robotOf(job) || v.result.robot],
    ["residual, fitted", (_, v) => percent(v.result.training.relative)],
    ["residual, validation", (_, v) => (v.result.validation.length ? percent(Math.max(...v.result.validation.map((r) => r.relative))) : "–")],
    ["estimator", (_, v) => v.result.estimator],
    ["parameters", (_, v) => String(v.parameters.length)],
    ["condition number", (_, v) => shown(v.result.condition, 3)],
    ["effects", (job, v) => effectsOf(job) || (stated(v) ?? "chosen")],
    ["low-pass", (job, v) => cutoffOf(job) || (typeof v.campaign?.filter?.cutoff_hz === "number" ? `${v.campaign.filter.cutoff_hz} Hz` : "chosen")],
    ...views[0].joints.map((joint, j) => [`fitted, ${joint}`, (_: Job, v: FitView) => percent(v.result.training.per_joint[j]?.relative)] as [string, (job: Job, view: FitView) => string]),
  ];
  const cells = (render: (k: number) => ReactNode, className?: string) => jobs.map((job, k) => <Fragment key={job.name}>{<td className={className}>{render(k)}</td>}</Fragment>);
  return (
    <Panel title={jobs.length === 2 ? "Two side by side" : `${jobs.length} side by side`}>
      <Scroll label="Runs side by side">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span className="hidden">what</span>
              </th>
              {names.map((name, k) => (
                <th key={k} scope="col" className="whole">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([title, value]) => {
              const all = jobs.map((job, k) => value(job, views[k]));
              return (
                <tr key={title} className={all.every((text) => text === all[0]) ? undefined : "touched"}>
                  <th scope="row">{title}</th>
                  {cells((k) => all[k])}
                </tr>
              );
            })}
            <tr>
              <th scope="row">go back to its choices</th>
              {cells((k) => (
                <button type="button" className="whole" onClick={() => void back(jobs[k].name)} disabled={!views[k].campaign}>
                  Use again
                </button>
              ))}
            </tr>
          </tbody>
        </table>
      </Scroll>
      <CurvesOfSome views={views} names={names} />
      <ValuesOfSome views={views} names={names} />
    </Panel>
  );
}

/** Values that differ between any two of the runs, or all of them. */
function ValuesOfSome({ views, names }: { views: FitView[]; names: string[] }) {
  const [all, setAll] = useState(false);
  const known = useMemo(() => views.map((view) => new Map(view.parameters.map((p) => [p.name, p]))), [views]);
  const parameters = [...new Set(known.flatMap((own) => [...own.keys()]))];
  const off = (name: string) => {
    const own = known.map((values) => values.get(name));
    if (own.some((p) => !p)) return Infinity;
    return Math.max(...own.flatMap((x, k) => own.slice(k + 1).map((y) => Math.abs(x!.value - y!.value) / Math.hypot(x!.deviation ?? 0, y!.deviation ?? 0))));
  };
  const shared = parameters.filter((name) => Number.isFinite(off(name))), alone = parameters.length - shared.length;
  const pairs = (names.length * (names.length - 1)) / 2; // every pair is a test
  const differing = holm(shared, (name) => Math.min(1, pairs * chance(off(name))));
  const listed = all ? parameters : differing;
  return (
    <>
      <h3>
        {differing.length} of {shared.length} values differ (5 % by Holm over all of them)
        {alone > 0 && `, ${alone} ${alone === 1 ? "is" : "are"} not in all runs`}{" "}
        <button type="button" className="plain" onClick={() => setAll(!all)}>
          {all ? "Only those" : "Show all"}
        </button>
      </h3>
      {listed.length > 0 && (
        <Scroll label="Values of the runs" tall>
          <table>
            <thead>
              <tr>
                <th scope="col">parameter</th>
                {names.map((name, k) => (
                  <th key={k} scope="col" className="number">
                    {name}
                  </th>
                ))}
                <th scope="col" className="number">
                  largest difference in deviations
                </th>
                <th scope="col">unit</th>
              </tr>
            </thead>
            <tbody>
              {listed.map((name) => (
                <tr key={name}>
                  <th scope="row">
                    <ParameterName name={name} />
                  </th>
                  {known.map((values, k) => {
                    const p = values.get(name);
                    return (
                      <td key={k} className="number">
                        {p ? `${shown(p.value)} ± ${shown(p.deviation, 2)}` : "–"}
                      </td>
                    );
                  })}
                  <td className="number">{Number.isFinite(off(name)) ? shown(off(name), 2) : "–"}</td>
                  <td className="unit">{units(known.find((values) => values.has(name))?.get(name)?.unit ?? "")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}
