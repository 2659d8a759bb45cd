import type { ComponentType } from "react";
import { Facts, percent, shown } from "../parts/bits";
import { CorrelationMap } from "../parts/correlation";
import { CurveChoice, Efforts, Further, LogChoice, measureOf, Residuals, useCurveChoice, useLogs, Verdict } from "../parts/efforts";
import { canLook, LOOKS, Patterns } from "../parts/patterns";
import { Sentences } from "../parts/table";
import { Values } from "../parts/values";
import type { DrawnRobot, FitView, JudgedLog } from "../types";
import { Document, made, type PageData, type Part, told } from "./shell";

interface PagedFit extends FitView {
  not_drawn: string[];
  physical: string[];
  unexcited: string[];
  audits: string[];
  made: [string, string][];
}

type Picture = ComponentType<{ drawn: DrawnRobot; logs: JudgedLog[] }>; // in three dimensions, on pages that have them

export function FitPage({ data, Picture }: { data: PageData<PagedFit>; Picture?: Picture }) {
  const { view } = data, { result } = view;
  const unseen = worst(result.validation);
  return (
    <Document
      data={data}
      summary={
        <>
          <Verdict verdict={result.verdict} open />
          <Facts
            pairs={[
              ["residual, fitted", percent(result.training.relative)],
              ["residual, validation", unseen === null ? "no validation log" : percent(unseen)],
              ["parameters", result.count],
              ["estimator", result.estimator],
              ["condition number", shown(result.condition, 3)],
            ]}
          />
        </>
      }
      parts={[
        arrows(view, Picture),
        residuals(view),
        ...figures(view),
        { id: "values", title: `${view.parameters.length} values`, body: <Values parameters={view.parameters} /> },
        told("unexcited", "Not excited", view.unexcited, "These logs say nothing about the following; no number is given for them."),
        ...further(view),
        correlated(view),
        told("physical", "Physical consistency", view.physical),
        told("audits", "Notes on the logs", view.audits),
        made(view.made),
      ]}
    />
  );
}

export function ValidationPage({ data, Picture }: { data: PageData<PagedFit>; Picture?: Picture }) {
  const { view } = data, { result } = view;
  const nominal = worst(view.logs.flatMap((log) => (log.nominal_residual ? [log.nominal_residual] : [])));
  const remarks = result.validation.flatMap((r) => (r.remarks ?? []).map((text) => `${r.log}: ${text}`));
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">Logs predicted by a model that was identified before; nothing was fitted to them.</p>
          <Facts
            pairs={[
              ["largest residual", percent(worst(result.validation))],
              ...(nominal === null ? [] : [["nominal model", percent(nominal)] as [string, string]]),
              ["on its own logs", percent(result.training?.relative)],
              ["logs", result.validation.length],
              ["parameters", result.count ?? view.parameters.length],
              ["effects", result.effects?.length ? [...new Set(result.effects.map((name) => name.replace(/\d.*$/, "")))].join(", ") : "none"],
            ]}
          />
          {remarks.length > 0 && <Sentences texts={remarks} />}
        </>
      }
      parts={[
        arrows(view, Picture),
        residuals(view),
        ...figures(view),
        { id: "values", title: `${view.parameters.length} values of the model`, body: <Values parameters={view.parameters} /> },
        ...further(view),
        correlated(view),
        result.verdict && { id: "verdict", title: "Verdict when it was identified", body: <Verdict verdict={result.verdict} /> },
        told("audits", "Notes on the logs", view.findings.map((f) => `${f.log}: ${f.level}: ${[f.channel, f.text].filter(Boolean).join(": ")}`)),
        made(view.made),
      ]}
    />
  );
}

function arrows(view: PagedFit, Picture?: Picture): Part | null {
  return view.drawn && Picture ? { id: "arrows", title: "Errors on the robot", body: <Picture drawn={view.drawn} logs={view.logs} /> } : null;
}

function worst(all: { relative: number | null }[]): number | null {
  const known = all.map((r) => r.relative).filter((v): v is number => v !== null);
  return known.length ? Math.max(...known) : null;
}

function residuals(view: PagedFit): Part {
  const body = (
    <>
      <p className="soft">{measureOf(view).about}</p>
      <Residuals view={view} />
    </>
  );
  return { id: "residuals", title: `Residual over ${measureOf(view).word}`, body };
}

function further(view: PagedFit): Part[] {
  return (view.sections ?? []).map((part, k) => ({ id: `further${k}`, title: part.title, body: <Further part={part} /> }));
}

function correlated(view: PagedFit): Part | null {
  const { correlations } = view;
  return correlations && correlations.names.length > 1 ? { id: "correlations", title: "Correlations", body: <CorrelationMap data={correlations} /> } : null;
}

function figures(view: PagedFit): (Part | null)[] {
  const logs = view.logs.filter((log) => log.t.length);
  if (!logs.length) return [];
  const looks = Object.keys(LOOKS).filter((look) => logs.some((log) => canLook(log, look)));
  return [
    { id: "efforts", title: measureOf(view).curves, body: <EffortsPart view={view} /> },
    ...looks.map((look) => ({
      id: look,
      title: look === "friction" ? "Friction" : look === "spectrum" ? "Spectrum" : `Residual ${LOOKS[look].title}`,
      body: <LookPart joints={view.joints} logs={logs.filter((log) => canLook(log, look))} look={look} />,
    })),
  ];
}

function EffortsPart({ view }: { view: PagedFit }) {
  const [log, options, chosen, choose] = useLogs(view.logs);
  const [choice, setChoice] = useCurveChoice();
  if (!log) return null;
  return (
    <>
      <div className="bar">
        <LogChoice options={options} value={chosen} onChange={choose} />
        <CurveChoice log={log} value={choice} onChange={setChoice} />
      </div>
      <p className="soft">
        Drag over a part to zoom into all joints, double-click for the whole; with the keyboard, arrows, + and −.
        {view.not_drawn?.length > 0 && ` Not drawn: ${view.not_drawn.join(", ")}.`}
      </p>
      <Efforts log={log} joints={view.joints} choice={choice} group="efforts" />
    </>
  );
}

function LookPart({ logs, joints, look }: { logs: JudgedLog[]; joints: string[]; look: string }) {
  const [log, options, chosen, choose] = useLogs(logs);
  if (!log) return null;
  return (
    <>
      <div className="bar">
        <LogChoice options={options} value={chosen} onChange={choose} />
      </div>
      <p className="soft">{LOOKS[look].about}</p>
      <Patterns log={log} joints={joints} look={look} />
    </>
  );
}
