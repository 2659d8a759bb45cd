import { useMemo, useState } from "react";
import { CheckField, Empty, Facts, Panel, percent, Scroll, SelectField, shown, units } from "../parts/bits";
import { ParameterName } from "../parts/math";
import { Plot, type Series } from "../parts/plot";
import { latest, useStudio, useView } from "../studio";
import type { FitParameter, FitView } from "../types";

const CURVES: Record<string, { colour: string; dash?: number[]; width: number }> = {
  measured: { colour: "--measured", width: 3.4 }, // under the others, so that both stay visible where they agree
  predicted: { colour: "--predicted", width: 1.3 },
  nominal: { colour: "--nominal", dash: [6, 4], width: 1.3 },
  residual: { colour: "--residual", width: 1.1 },
};
const POOR = 0.3;

export default function ValidateStep() {
  const { project, path, go } = useStudio();
  const runs = project.jobs.filter((job) => job.kind === "identify" && job.state === "done");
  const name = runs.find((job) => job.name === path[1])?.name ?? latest(project, "identify", "done")?.name;
  const view = useView<FitView>(name);
  if (!name) return <Empty>No identification yet; run one in the step Identify.</Empty>;
  return (
    <>
      <div className="bar">
        <SelectField label="Run" value={name} options={runs.map((job) => job.name)} onChange={(run) => go(`/validate/${run}`)} />
        <a className="button" href={`/api/jobs/${name}/pages/report`} target="_blank" rel="noreferrer">
          Report as a page
        </a>
        <a className="button" href={`/api/jobs/${name}/zip`}>
          Model and report (zip)
        </a>
      </div>
      {view && <Fit key={name} view={view} name={name} />}
    </>
  );
}

function Fit({ view, name }: { view: FitView; name: string }) {
  const { result } = view;
  const [scope, ...remarks] = result.verdict.reasons;
  return (
    <div className="stack">
      <Panel>
        <div className="verdict">
          <span className={`stamp ${result.verdict.good ? "good" : "bad"}`}>{result.verdict.good ? "Good" : "Not good"}</span>
          <div>
            <p>{scope}</p>
            {remarks.length > 0 && (
              <details open={!result.verdict.good}>
                <summary>{remarks.length} more remarks</summary>
                <ul className="sentences">
                  {remarks.map((text, k) => (
                    <li key={k}>{text}</li>
                  ))}
                </ul>
              </details>
            )}
          </div>
        </div>
        <Facts
          pairs={[
            ["residual, fitted", percent(result.training.relative)],
            ["residual, unseen", result.validation.length ? percent(Math.max(...result.validation.map((r) => r.relative))) : "nothing unseen"],
            ["parameters", result.count],
            ["estimator", result.estimator],
            ["condition number", shown(result.condition, 3)],
          ]}
        />
      </Panel>
      <Residuals view={view} />
      <Curves view={view} group={name} />
      <Panel title={`${view.parameters.length} values`}>
        <Values parameters={view.parameters} />
      </Panel>
      {view.notes.length > 0 && (
        <Panel title="About the files">
          <ul className="sentences">
            {view.notes.map((note, k) => (
              <li key={k}>{note}</li>
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

function Residuals({ view }: { view: FitView }) {
  return (
    <Panel title="Residual over effort">
      <Scroll label="Residuals by log and joint">
        <table>
          <thead>
            <tr>
              <th scope="col">log</th>
              <th scope="col">model</th>
              <th scope="col" className="number">
                all joints
              </th>
              {view.joints.map((joint) => (
                <th scope="col" key={joint} className="number">
                  {joint}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {view.logs.flatMap((log) => {
              const rows = [{ title: log.is_fitted ? "fitted" : "unseen, predicted", r: log.residual }];
              if (log.nominal_residual) rows.push({ title: "nominal", r: log.nominal_residual });
              return rows.map(({ title, r }, k) => (
                <tr key={log.log + title}>
                  <th scope="row">{k === 0 ? log.log : <span className="hidden">{log.log}</span>}</th>
                  <td className={k ? "soft" : undefined}>{title}</td>
                  <td className="number">{percent(r.relative)}</td>
                  {r.per_joint.map((joint) => (
                    <td key={joint.joint} className="number" title={`rmse ${shown(joint.rmse)}`}>
                      {percent(joint.relative)}
                    </td>
                  ))}
                </tr>
              ));
            })}
          </tbody>
        </table>
      </Scroll>
    </Panel>
  );
}

function Curves({ view, group }: { view: FitView; group: string }) {
  const order = useMemo(() => [...view.logs].sort((a, b) => Number(a.is_fitted) - Number(b.is_fitted)), [view]);
  const [chosen, setChosen] = useState(0);
  const [shownCurves, setShown] = useState({ measured: true, predicted: true, nominal: true, residual: false } as Record<string, boolean>);
  const log = order[chosen];
  if (!log) return null;
  const unit = log.unit === "Nm" ? "N m or N" : log.unit;
  return (
    <Panel
      title="Efforts"
      tools={
        <>
          {Object.keys(CURVES)
            .filter((name) => name === "residual" || log.curves[name])
            .map((name) => (
              <CheckField key={name} label={name} value={shownCurves[name]} onChange={(on) => setShown({ ...shownCurves, [name]: on })} />
            ))}
        </>
      }
    >
      <div className="segment" role="group" aria-label="Log">
        {order.map((one, k) => (
          <button key={k} type="button" aria-pressed={k === chosen} onClick={() => setChosen(k)}>
            {one.log} ({one.is_fitted ? "fitted" : "unseen"})
          </button>
        ))}
      </div>
      <p className="soft">Through the evaluation filter. Drag over a part to zoom into all joints, double-click for the whole.</p>
      <div className="plots">
        {view.joints.map((joint, j) => {
          const curves: Record<string, (number | null)[]> = Object.fromEntries(Object.entries(log.curves).map(([name, rows]) => [name, rows[j]]));
          curves.residual = curves.measured.map((v, k) => (v === null || curves.predicted[k] === null ? null : v - (curves.predicted[k] as number)));
          const series: Series[] = ["measured", "nominal", "predicted", "residual"]
            .filter((name) => shownCurves[name] && curves[name])
            .map((name) => ({ label: name, values: curves[name], colour: CURVES[name].colour, dash: CURVES[name].dash, width: CURVES[name].width }));
          const own = log.residual.per_joint[j];
          return <Plot key={joint} group={group} title={`${joint}, residual ${percent(own?.relative)}`} unit={unit} t={log.t} series={series} />;
        })}
      </div>
    </Panel>
  );
}

function Values({ parameters }: { parameters: FitParameter[] }) {
  const [sort, setSort] = useState("order");
  const rows = useMemo(
    () => (sort === "order" ? parameters : [...parameters].sort((a, b) => (b.relative ?? Infinity) - (a.relative ?? Infinity))),
    [parameters, sort],
  );
  const hasNominal = parameters.some((p) => p.nominal !== null);
  return (
    <>
      <p className="soft">
        Bars: 95 % interval of each value, on its own scale{hasNominal && "; dotted: the file's own value"}. Values known to no better than 30 % are marked.{" "}
        <button type="button" className="plain" onClick={() => setSort(sort === "order" ? "worst" : "order")}>
          {sort === "order" ? "Least certain first" : "In order of the links"}
        </button>
      </p>
      <Scroll label="Identified values">
        <table>
          <thead>
            <tr>
              <th scope="col">parameter</th>
              <th scope="col" className="number">
                value
              </th>
              <th scope="col" className="number">
                deviation
              </th>
              <th scope="col" className="number">
                relative
              </th>
              {hasNominal && (
                <th scope="col" className="number">
                  nominal
                </th>
              )}
              <th scope="col">unit</th>
              <th scope="col">interval</th>
              <th scope="col">relation</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((p) => (
              <tr key={p.name}>
                <th scope="row">
                  <ParameterName name={p.name} />
                </th>
                <td className="number">{shown(p.value)}</td>
                <td className="number">{p.class === "fixed" ? "given" : shown(p.deviation, 2)}</td>
                <td className={`number ${p.relative !== null && p.relative > POOR ? "poor" : ""}`}>{p.class === "fixed" ? "" : percent(p.relative)}</td>
                {hasNominal && <td className="number">{shown(p.nominal)}</td>}
                <td className="unit">{units(p.unit)}</td>
                <td>
                  <Interval p={p} />
                </td>
                <td className="relation soft">{p.relation === p.name ? "" : p.relation.replaceAll("**", "^").replaceAll("*", " ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Interval({ p }: { p: FitParameter }) {
  const [low, high] = p.interval;
  if (low === null || high === null) return null;
  const points = [low, high, 0, p.value, ...(p.nominal === null ? [] : [p.nominal])];
  const min = Math.min(...points), max = Math.max(...points), span = max - min || 1;
  const at = (v: number) => `${4 + (92 * (v - min)) / span}%`;
  return (
    <div className="interval" role="img" aria-label={`from ${shown(low)} to ${shown(high)}`}>
      <i className="zero" style={{ left: at(0) }} />
      <i className="range" style={{ left: at(low), width: `${(92 * (high - low)) / span}%` }} />
      {p.nominal !== null && <i className="before" style={{ left: at(p.nominal) }} />}
      <i className="value" style={{ left: at(p.value) }} />
    </div>
  );
}
