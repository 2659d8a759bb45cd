import { useMemo, useState } from "react";
import { useCampaign } from "../campaign";
import { duration, Empty, Panel, percent, Scroll, SelectField, shown, units } from "../parts/bits";
import { EffortsOfTwo, gradeOf, LogChoice, useLogs } from "../parts/efforts";
import { ParameterName } from "../parts/names";
import { useStudio, useView } from "../studio";
import type { CampaignDocument, FitView, Job, JudgedLog } from "../types";

const SHOWN = ["identify", "excite", "control", "generate", "rehearse", "validate", "fleet"];
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
                <th scope="col">what came of it</th>
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
          <i className={`dot ${job.state === "done" || job.state === "running" ? job.state : "failed"}`} aria-hidden="true" />
          {job.state}
        </span>
      </td>
      <td className="whole">{new Date(1000 * job.started).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" })}</td>
      <td className="number">{duration(job)}</td>
      <td className="sentence">{job.state === "running" ? job.step : job.sentence}</td>
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
  const differing = names.filter((name) => off(name) > 2);
  const shownNames = all ? names : differing;
  const back = (document: CampaignDocument | null) => {
    if (!document) return;
    take(document);
    go("/identify");
  };
  const rows: [string, (view: FitView) => string][] = [
    ["verdict", (v) => gradeOf(v.result.verdict)],
    ["residual, fitted", (v) => percent(v.result.training.relative)],
    ["residual, unseen", (v) => (v.result.validation.length ? percent(Math.max(...v.result.validation.map((r) => r.relative))) : "–")],
    ["estimator", (v) => v.result.estimator],
    ["parameters", (v) => String(v.parameters.length)],
    ["condition number", (v) => shown(v.result.condition, 3)],
    ["effects", (v) => v.campaign?.model?.effects?.map(String).join(", ") ?? "chosen"],
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
                  <button type="button" className="whole" onClick={() => back(view.campaign)} disabled={!view.campaign}>
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
        {differing.length} of {names.length} values differ by more than two deviations{" "}
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
                  apart, in deviations
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
