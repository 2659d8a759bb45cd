import { useState } from "react";
import { Archive, Empty, Facts, Panel, percent, SelectField, shown, Stale } from "../parts/bits";
import { CorrelationMap } from "../parts/correlation";
import { CurveChoice, Efforts, Further, LogChoice, measureOf, Residuals, useCurveChoice, useLogs, Verdict } from "../parts/efforts";
import { canLook, LOOKS, Patterns } from "../parts/patterns";
import { SignificanceCurve } from "../parts/significance";
import { Segment, Sentences } from "../parts/table";
import { Values } from "../parts/values";
import { useRuns, useStudio } from "../studio";
import type { FitView } from "../types";

export default function ValidateStep() {
  const { go } = useStudio();
  const { done: runs, name, shown: job, view } = useRuns<FitView>("identify");
  if (!name || !job) return <Empty>No identification yet; run one in the step Identify.</Empty>;
  return (
    <>
      <div className="bar">
        <SelectField label="Run" value={name} options={runs.map((one) => one.name)} names={Object.fromEntries(runs.map((one) => [one.name, one.stale.length ? `${one.name}, ${one.stale[0]}` : one.name]))} onChange={(run) => go(`/validate/${run}`)} />
        <a className="button" href={`/api/jobs/${name}/pages/report`} target="_blank" rel="noreferrer">
          Report as a page
        </a>
        <Archive job={job} label="Model and report (zip)" />
      </div>
      <Stale job={job} />
      <div className={job.stale.length ? "old" : undefined}>{view && <Fit key={name} view={view} name={name} />}</div>
    </>
  );
}

function Fit({ view, name }: { view: FitView; name: string }) {
  const { result } = view;
  return (
    <div className="stack">
      <Panel>
        <Verdict verdict={result.verdict} />
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
      <Panel title={`Residual over ${measureOf(view).word}`}>
        <p className="soft">{measureOf(view).about}</p>
        <Residuals view={view} />
      </Panel>
      <Curves view={view} group={name} />
      <Panel title={`${view.parameters.length} values`}>
        <Values parameters={view.parameters} />
      </Panel>
      {view.sections?.map((part) => (
        <Panel key={part.title} title={part.title}>
          <Further part={part} />
        </Panel>
      ))}
      {view.significance && (
        <Panel title="Essential parameters">
          <SignificanceCurve view={view.significance} />
        </Panel>
      )}
      {view.correlations && view.correlations.names.length > 1 && (
        <Panel title="Correlations">
          <CorrelationMap data={view.correlations} />
        </Panel>
      )}
      {view.notes.length > 0 && (
        <Panel title="About the files">
          <Sentences texts={view.notes} />
        </Panel>
      )}
    </div>
  );
}

/** Efforts over time, or what is left of them against speed, position and frequency. */
function Curves({ view, group }: { view: FitView; group: string }) {
  const [log, options, chosen, choose] = useLogs(view.logs);
  const [choice, setChoice] = useCurveChoice();
  const [look, setLook] = useState("time");
  if (!log) return null;
  const looks = Object.keys(LOOKS).filter((key) => canLook(log, key));
  const shownLook = looks.includes(look) ? look : "time";
  return (
    <Panel title={shownLook === "time" ? measureOf(view).curves : shownLook === "friction" ? "Friction" : "Residual"} tools={shownLook === "time" && <CurveChoice log={log} value={choice} onChange={setChoice} />}>
      <div className="bar">
        <Segment label="Look at" options={[{ key: "time", title: "over time" }, ...looks.map((key) => ({ key, title: LOOKS[key].title }))]} value={shownLook} onChange={setLook} />
        <LogChoice options={options} value={chosen} onChange={choose} />
      </div>
      <p className="soft">
        {shownLook === "time" ? "Drag over a part to zoom into all joints, double-click for the whole." : LOOKS[shownLook].about}
      </p>
      {shownLook === "time" ? <Efforts log={log} joints={view.joints} choice={choice} group={group} /> : <Patterns log={log} joints={view.joints} look={shownLook} />}
    </Panel>
  );
}
