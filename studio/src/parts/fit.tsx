import { useState } from "react";
import type { FitView } from "../types";
import { ErrorArrowsOf } from "./arrows";
import { Facts, Panel, percent, shown } from "./bits";
import { CorrelationMap } from "./correlation";
import { CurveChoice, Efforts, Further, LogChoice, measureOf, Residuals, useCurveChoice, useLogs, Verdict } from "./efforts";
import { canLook, LOOKS, Patterns } from "./patterns";
import { axisOf, isTime } from "./plot";
import { SignificanceCurve } from "./significance";
import { Segment, Sentences } from "./table";
import { Values } from "./values";

/** The result of a fit of any kind: verdict, residuals, curves, values. */
export function Fit({ view, name }: { view: FitView; name: string }) {
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
      {view.drawn && (
        <Panel title="Errors on the robot">
          <ErrorArrowsOf drawn={view.drawn} logs={view.logs} />
        </Panel>
      )}
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
  const axis = axisOf(log.over);
  const looks = Object.keys(LOOKS).filter((key) => canLook(log, key));
  const shownLook = looks.includes(look) ? look : "time";
  return (
    <Panel title={shownLook === "time" ? measureOf(view).curves : shownLook === "friction" ? "Friction" : "Residual"} tools={shownLook === "time" && <CurveChoice log={log} value={choice} onChange={setChoice} />}>
      <div className="bar">
        <Segment label="Look at" options={[{ key: "time", title: isTime(axis) ? "over time" : `over ${axis.name}s` }, ...looks.map((key) => ({ key, title: LOOKS[key].title }))]} value={shownLook} onChange={setLook} />
        <LogChoice options={options} value={chosen} onChange={choose} />
      </div>
      <p className="soft">
        {shownLook === "time" ? "Drag over a part to zoom into all joints, double-click for the whole." : LOOKS[shownLook].about}
      </p>
      {shownLook === "time" ? <Efforts log={log} joints={view.joints} choice={choice} group={group} /> : <Patterns log={log} joints={view.joints} look={shownLook} />}
    </Panel>
  );
}
