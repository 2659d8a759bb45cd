import { memo, useMemo } from "react";
import type { FitView, JudgedLog, MeasureData, SectionData, VerdictData } from "../types";
import { CheckField, percent, shown } from "./bits";
import { useLook } from "./look";
import { axisOf, isTime, Plot, type Series } from "./plot";
import { DataTable, numbers, Segment, Sentences } from "./table";

const CURVES: Record<string, { colour: string; dash?: number[]; width: number }> = {
  measured: { colour: "--measured", width: 3.4 }, // under the others, so that both stay visible where they agree
  nominal: { colour: "--nominal", dash: [6, 4], width: 1.3 },
  predicted: { colour: "--predicted", width: 1.3 },
  residual: { colour: "--residual", width: 1.1 },
};
const DOTS: Record<string, Partial<Series>> = { // postures follow one another in no order of their own
  measured: { points: true, width: 7 },
  nominal: { points: true, width: 4 },
  predicted: { points: true, width: 4 },
  residual: { points: true, width: 4 },
};
const FIRST = { measured: true, predicted: true, nominal: true, residual: false } as Record<string, boolean>;

/** What residuals are compared with. */
export const measureOf = (view: Pick<FitView, "measure">): MeasureData => view.measure ?? { word: "effort", curves: "Efforts", about: "Norm of the residual over norm of the effort, both through the same evaluation filter." };

/** Further parts of a fit: sentences and tables, such as those of position loops. */
export function Further({ part }: { part: SectionData }) {
  return (
    <>
      {part.sentences.map((text) => (
        <p key={text}>{text[0]!.toUpperCase() + text.slice(1)}.</p>
      ))}
      {part.rows.length > 0 && (
        <DataTable
          label={part.title}
          columns={part.headers.map((title, k) => (typeof part.rows[0]![k] === "number" ? numbers(title) : title))}
          rows={part.rows.map((row, k) => ({ key: String(k), cells: row.map((cell) => (typeof cell === "number" ? shown(cell, 4) : cell)) }))}
        />
      )}
    </>
  );
}

/** Unit of what is drawn of a joint. */
export const unitOf = (log: JudgedLog, j: number) => log.units?.[j] ?? (log.unit !== "Nm" ? (log.unit ?? "") : log.slides ? (log.slides[j] ? "N" : "N m") : "N m or N");

const COLOURS: Record<string, string> = { good: "good", "usable with limits": "fair", "not good": "bad" };

/** The grade of a verdict in words, also of one from when there were two. */
export const gradeOf = (verdict: VerdictData) => (verdict.grade === "usable" ? "usable with limits" : (verdict.grade ?? (verdict.good ? "good" : "not good")));

/** Both lines of a verdict, each with its question; results of older versions have none. */
export function verdictLines(verdict: VerdictData): [string, string][] {
  return ([["Predicts", verdict.predicts], ["Knows", verdict.knows]] as const).map(([question, line]) => {
    const [head, ...rest] = (line ?? "").split(": ");
    return rest.length ? [head[0]!.toUpperCase() + head.slice(1), rest.join(": ")] : [question, "not recorded; identify again"];
  });
}

/** Good, usable or not; whether it predicts, and what it knows; then all reasons. */
export function Verdict({ verdict, open }: { verdict: VerdictData; open?: boolean }) {
  const grade = gradeOf(verdict), { reasons } = verdict;
  return (
    <div className="verdict">
      <span className={`stamp ${COLOURS[grade]}`}>{grade[0]!.toUpperCase() + grade.slice(1)}</span>
      <div>
        <dl className="verdict-lines">
          {verdictLines(verdict).map(([question, answer]) => (
            <div key={question}>
              <dt>{question}</dt>
              <dd>{answer}</dd>
            </div>
          ))}
        </dl>
        {reasons.length > 0 && (
          <details open={open || !verdict.good}>
            <summary>{reasons.length === 1 ? "1 reason" : `${reasons.length} reasons and notes`}</summary>
            <Sentences texts={reasons} />
          </details>
        )}
      </div>
    </div>
  );
}

/** Residual over effort of every log and joint, of the model and of the robot's own file. */
export function Residuals({ view }: { view: Pick<FitView, "joints" | "logs"> }) {
  const rows = view.logs.flatMap((log, k) => {
    const models = [{ title: log.is_fitted ? "fitted" : "validation, predicted", r: log.residual }];
    if (log.nominal_residual) models.push({ title: "nominal", r: log.nominal_residual });
    return models.map(({ title, r }, m) => ({
      key: `${k} ${title}`,
      cells: [
        m === 0 ? log.log : <span className="hidden">{log.log}</span>,
        <span className={m ? "soft" : undefined}>{title}</span>,
        percent(r.relative),
        ...r.per_joint.map((joint) => <span title={`rmse ${shown(joint.rmse)}`}>{percent(joint.relative)}</span>),
      ],
    }));
  });
  return <DataTable label="Residuals by log and output" columns={["log", "model", numbers("all"), ...view.joints.map(numbers)]} rows={rows} />;
}

/** The logs that have curves, those never fitted first, and which of them is looked at. */
export function useLogs(logs: JudgedLog[]): [JudgedLog | undefined, { key: string; title: string }[], string, (key: string) => void] {
  const order = useMemo(() => [...logs].filter((log) => log.t.length).sort((a, b) => Number(a.is_fitted) - Number(b.is_fitted)), [logs]);
  const [chosen, choose] = useLook("log", "0");
  return useMemo(() => {
    const options = order.map((log, k) => ({ key: String(k), title: `${log.log} (${log.is_fitted ? "fitted" : "validation"})` }));
    return [order[Number(chosen)] ?? order[0], options, chosen, choose];
  }, [order, chosen, choose]);
}

/** Which of the curves are drawn. */
export function CurveChoice({ log, value, onChange }: { log: JudgedLog; value: Record<string, boolean>; onChange: (value: Record<string, boolean>) => void }) {
  return (
    <span className="checks">
      {Object.keys(CURVES)
        .filter((name) => name === "residual" || log.curves[name])
        .map((name) => (
          <CheckField key={name} label={name} value={value[name]} onChange={(on) => onChange({ ...value, [name]: on })} />
        ))}
    </span>
  );
}

/** Which curves are drawn; in the address by their names. */
export function useCurveChoice(): [Record<string, boolean>, (value: Record<string, boolean>) => void] {
  const [named, setNamed] = useLook("curves", Object.keys(FIRST).filter((name) => FIRST[name]).join(" "));
  const choice = useMemo(() => Object.fromEntries(Object.keys(FIRST).map((name) => [name, named.split(" ").includes(name)])), [named]);
  return [choice, (value) => setNamed(Object.keys(FIRST).filter((name) => value[name]).join(" "))];
}

/** Measured, predicted and nominal efforts of one log, joint by joint. */
export const Efforts = memo(function Efforts({ log, joints, choice, group, height }: { log: JudgedLog; joints: string[]; choice: Record<string, boolean>; group: string; height?: number }) {
  const over = useMemo(() => axisOf(log.over), [log.over]);
  const [part, setPart] = useLook("zoom", "");
  const ends = part.split(" ").map(Number);
  const zoom = ends.length === 2 && ends.every(Number.isFinite) ? (ends as [number, number]) : null;
  const drawn = useMemo(
    () =>
      joints.map((_, j) => {
        const curves: Record<string, (number | null)[]> = Object.fromEntries(Object.entries(log.curves).map(([name, rows]) => [name, rows[j]]));
        curves.residual = curves.measured.map((v, k) => (v === null || curves.predicted[k] === null ? null : v - (curves.predicted[k] as number)));
        return Object.keys(CURVES)
          .filter((name) => choice[name] && curves[name])
          .map((name): Series => ({ label: name, values: curves[name], ...CURVES[name], ...(isTime(over) ? {} : DOTS[name]) }));
      }),
    [log, joints, choice, over],
  );
  return (
    <div className="plots">
      {joints.map((joint, j) => (
        <Plot
          key={joint}
          group={group}
          title={`${joint}, residual ${percent(log.residual.per_joint[j]?.relative)}`}
          unit={unitOf(log, j)}
          t={log.t}
          series={drawn[j]}
          over={over}
          height={height}
          zoom={zoom}
          onZoom={(shown) => setPart(shown ? shown.map((x) => Number(x.toFixed(3))).join(" ") : "")}
          late={joints.length > MANY}
        />
      ))}
    </div>
  );
});

const MANY = 12; // plots of which each is drawn when it is seen
const SIDES = ["--predicted", "--nominal", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

/** One log as it was measured and as some models predict it, joint by joint; logs: of the same name, one of each model. */
export const EffortsOfSome = memo(function EffortsOfSome({ logs, titles, joints, group }: { logs: JudgedLog[]; titles: string[]; joints: string[]; group: string }) {
  const [first] = logs;
  const drawn = useMemo(
    () =>
      joints.map((_, j): Series[] => [
        { label: "measured", values: first.curves.measured[j], ...CURVES.measured },
        ...logs.map((log, k) => ({
          label: titles[k],
          values: log.t === first.t ? log.curves.predicted[j] : resampled(first.t, log.t, log.curves.predicted[j]),
          colour: SIDES[k % SIDES.length],
          dash: k ? [6, 4] : undefined,
          width: 1.3,
        })),
      ]),
    [logs, titles, joints, first],
  );
  return (
    <div className="plots">
      {joints.map((joint, j) => (
        <Plot key={joint} group={group} title={`${joint}, residual ${logs.map((log) => percent(log.residual.per_joint[j]?.relative)).join(", ")}`} unit={unitOf(first, j)} t={first.t} series={drawn[j]} late={joints.length > MANY} />
      ))}
    </div>
  );
});

/** A curve at other times, linearly between its own; nothing beyond its ends. */
function resampled(at: number[], t: number[], values: (number | null)[]): (number | null)[] {
  let k = 0;
  return at.map((time) => {
    while (k < t.length - 2 && t[k + 1] < time) k++;
    const a = values[k], b = values[k + 1];
    if (t.length < 2 || time < t[0] || time > t[t.length - 1] || a === null || b === null) return null;
    return a + ((b - a) * (time - t[k])) / (t[k + 1] - t[k] || 1);
  });
}

export function LogChoice({ options, value, onChange }: { options: { key: string; title: string }[]; value: string; onChange: (key: string) => void }) {
  return options.length > 1 ? <Segment label="Log" options={options} value={value} onChange={onChange} /> : <span className="soft">{options[0]?.title}</span>;
}
