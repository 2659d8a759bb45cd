import { Fragment, type ReactNode, useMemo } from "react";
import { Facts } from "../parts/bits";
import { Verdict } from "../parts/efforts";
import { ParameterName } from "../parts/names";
import { axisOf, Plot } from "../parts/plot";
import { Strip, type StripView } from "../parts/strip";
import { DataTable, Sentences } from "../parts/table";
import type { VerdictData } from "../types";
import { Document, type PageData, type Part } from "./shell";

type Cell = string | { name: string } | { offset: number; far: boolean };
interface TableData { headers: string[]; rows: Cell[][]; right: number[] }
interface ChartData { title: string; unit: string; over: string; log: boolean; t: number[]; lines: [string, (number | null)[]][]; edges: string[]; marks: number[]; span: [number, number] | null }
interface Block { words?: string; links?: [string, string][]; list?: string[]; strip?: StripView; table?: TableData; chart?: ChartData }
export interface DocumentView { verdict: VerdictData | null; lead: string; facts: [string, string][]; parts: { title: string; blocks: Block[] }[] }

const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const MEASURED = { colour: "--measured", width: 3.4 }; // under the others, so that both stay visible where they agree
const EDGE = { colour: COLOURS[0], width: 0.7, dash: [2, 3], quiet: true }; // of a band about the first line
const SHORT = /^[\w.:/-]{1,24}$/; // names and days, which are not broken at their hyphens
const WIDEST = 4; // deviations at either end of the scale

/** A page of blocks: sentences, tables, charts, files. */
export function DocumentPage({ data }: { data: PageData<DocumentView> }) {
  const { view } = data;
  return (
    <Document
      data={data}
      summary={<Summary view={view} />}
      parts={partsOf(view)}
    />
  );
}

export function Summary({ view }: { view: DocumentView }) {
  return (
    <>
      <p className="lead">{view.lead}</p>
      {view.verdict && <Verdict verdict={view.verdict} open />}
      <Facts pairs={view.facts} />
    </>
  );
}

export function partsOf(view: DocumentView): Part[] {
  return view.parts.map((part, k) => ({ id: `part${k + 1}`, title: part.title, body: grouped(part.blocks) }));
}

/** Blocks in their order; charts that follow one another stand side by side where there is room. */
function grouped(blocks: Block[]): ReactNode {
  const found: ReactNode[] = [];
  for (let k = 0; k < blocks.length; k++) {
    const charts: ChartData[] = [];
    for (let c = blocks[k]?.chart; c; c = blocks[++k]?.chart) charts.push(c);
    if (charts.length)
      found.push(
        <div key={`charts${k}`} className={charts.length > 1 ? "plots" : undefined}>
          {charts.map((chart, m) => (
            <ChartBlock key={m} chart={chart} tall={charts.length === 1} />
          ))}
        </div>,
      );
    if (k < blocks.length) found.push(<Fragment key={k}>{drawn(blocks[k])}</Fragment>);
  }
  return found;
}

function drawn({ words, links, list, strip, table }: Block): ReactNode {
  if (words !== undefined) return <p>{words}</p>;
  if (list) return <Sentences texts={list} />;
  if (strip) return <Strip view={strip} />;
  if (links)
    return (
      <ul className="links">
        {links.map(([name, to]) => (
          <li key={name}>
            <a href={to}>{name}</a>
          </li>
        ))}
      </ul>
    );
  if (!table) return null;
  const columns = table.headers.map((title, k) => ({ title: title || <span className="hidden">what</span>, number: table.right.includes(k), className: title === "unit" ? "unit" : undefined }));
  return <DataTable label={table.headers.filter(Boolean).slice(0, 3).join(", ")} columns={columns} rows={table.rows.map((row, k) => ({ key: String(k), cells: row.map(cell) }))} />;
}

function cell(value: Cell): ReactNode {
  if (typeof value === "string") return SHORT.test(value) ? <span className="whole">{value}</span> : value;
  if ("name" in value) return <ParameterName name={value.name} />;
  return (
    <span className="offset" role="img" aria-label={`${value.offset.toFixed(1)} deviations`}>
      <i className={value.far ? "far" : undefined} style={{ left: `${50 + (50 / WIDEST) * value.offset}%` }} />
    </span>
  );
}

function ChartBlock({ chart, tall }: { chart: ChartData; tall: boolean }) {
  const series = useMemo(() => chart.lines.map(([label, values], k) => ({ label, values, ...(label === "measured" ? MEASURED : chart.edges.includes(label) ? EDGE : { colour: COLOURS[k % COLOURS.length] }) })), [chart]);
  const over = useMemo(() => axisOf(chart.over), [chart.over]);
  return <Plot title={chart.title} unit={chart.unit} t={chart.t} series={series} over={over} log={chart.log} marks={chart.marks} span={chart.span} height={tall ? 230 : 170} />;
}
