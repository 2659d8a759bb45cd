import { useContext, useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { ClockContext } from "./player";
import { lines } from "./strokes";

export interface Series {
  label: string;
  values: (number | null)[];
  colour: string; // name of a CSS variable
  dash?: number[];
  width?: number; // of the line, or of the dots
  points?: boolean; // dots instead of a line
  quiet?: boolean; // the edge of a band: drawn, but not named below the plot
}

export interface Detail { t: number[]; values: (number | null)[][] }
const SETTLED = 40; // ms without another zoom before more points are asked for

export interface Axis { name: string; unit: string }
const TIME: Axis = { name: "t", unit: "s" };
/** The axis of a label such as "time [s]"; time where there is none. */
export function axisOf(label?: string): Axis {
  const [, name, unit] = /^(.*?)(?: \[(.*)\])?$/.exec(label ?? "") ?? [];
  return !name || name === "time" ? TIME : { name, unit: unit ?? "" };
}
export const isTime = (axis: Axis) => axis === TIME;
const WIDTH = 1.4; // px of a line
const LEGEND = 24; // px of the names below a plot

const groups = new Map<string, Set<uPlot>>();

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function useTheme(): boolean {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return dark;
}

/** Powers of ten within a span, at most six or so of them. */
function powers(min = 1, max = 10): number[] {
  const first = Math.ceil(Math.log10(min) - 1e-9), last = Math.floor(Math.log10(max) + 1e-9), step = Math.max(1, Math.ceil((last - first) / 5));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, k) => 10 ** (first + k * step));
}

const HIGH: Record<string, string> = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** 10^18 as 10¹⁸. */
export const raised = (text: string) => text.replace(/\^(-?\d+)/g, (_, exponent: string) => [...exponent].map((c) => HIGH[c]).join(""));

/** 0.01 to 1000 as they are, others as 10⁻⁵. */
function power(value: number): string {
  const exponent = Math.round(Math.log10(value));
  return exponent >= -2 && exponent <= 3 ? String(Number(value.toPrecision(1))) : raised(`10^${exponent}`);
}

let pointer = ""; // where it was last seen

/** Whether the pointer itself moved: a page that appears or scrolls under it moves no time. */
function hasMoved({ screenX, screenY }: MouseEvent): boolean {
  const before = pointer;
  pointer = `${screenX} ${screenY}`;
  return before !== "" && before !== pointer;
}

/** The part of the horizontal axis that is shown; null for all of it. */
function part({ scales, data }: uPlot): [number, number] | null {
  const { min, max } = scales.x, xs = data[0];
  return min == null || max == null || (min <= xs[0] && max >= xs[xs.length - 1]) ? null : [min, max];
}

const spaced = (v: number, unit: string) => (unit ? `${v} ${unit}` : `${v}`);
const short = (unit: string) => (unit.length > 2 ? "" : unit); // longer ones stand in the title alone

/** What a key does to a plot that has the focus: arrows move the cursor, + and - zoom, 0 and Escape show all of it. */
function pressed(plot: uPlot, key: string): boolean {
  const { min, max } = plot.scales.x, xs = plot.data[0];
  if (min == null || max == null || !xs.length) return false;
  const at = plot.cursor.idx ?? Math.floor(xs.length / 2);
  const point = (k: number) => plot.setCursor({ left: plot.valToPos(xs[Math.max(0, Math.min(xs.length - 1, k))], "x"), top: plot.over.clientHeight / 2 });
  const zoom = (factor: number) => {
    const centre = Math.max(min, Math.min(max, xs[at])), first = xs[0], last = xs[xs.length - 1];
    plot.setScale("x", { min: Math.max(first, centre - factor * (centre - min)), max: Math.min(last, centre + factor * (max - centre)) });
  };
  const step = Math.max(1, Math.round(((max - min) / (xs[xs.length - 1] - xs[0] || 1)) * xs.length * 0.01));
  if (key === "ArrowLeft") point(at - step);
  else if (key === "ArrowRight") point(at + step);
  else if (key === "+" || key === "=") zoom(0.5);
  else if (key === "-") zoom(2);
  else if (key === "0" || key === "Escape") plot.setScale("x", { min: xs[0], max: xs[xs.length - 1] });
  else return false;
  return true;
}

/** Curves over time, or over something else: drag to zoom, double-click for all of it; plots of one group zoom and point together. */
export function Plot({ title, t, series, unit, height = 170, group, bounds, over = TIME, log = false, mark, marks, span, detail, zoom, onZoom, late = false }: {
  title: string;
  t: number[];
  series: Series[];
  unit: string;
  height?: number;
  group?: string;
  bounds?: (number | null)[];
  over?: Axis;
  log?: boolean;
  mark?: number; // a place on the horizontal axis
  marks?: number[]; // events on it
  span?: [number, number] | null; // a part of it that is shaded
  detail?: (from: number, to: number) => Promise<Detail | null>; // more points of the part that is shown
  zoom?: [number, number] | null; // the part that is shown at first
  onZoom?: (part: [number, number] | null) => void; // null: all of it
  late?: boolean; // drawn when it comes near the part of the page that is seen
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const fresh = useRef(true);
  const dark = useTheme();
  const [isNear, setNear] = useState(!late);
  useEffect(() => {
    if (isNear || !place.current) return;
    const watch = new IntersectionObserver((all) => all.some((one) => one.isIntersecting) && setNear(true), { rootMargin: "300px" });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, [isNear]);
  const key = series.map((s) => s.label).join("|");
  const marked = useRef(mark);
  const putMark = useRef<() => void>(() => undefined);
  const clock = useContext(ClockContext), shared = over === TIME ? clock : null;
  const zoomed = useRef({ zoom, onZoom });
  zoomed.current = { zoom, onZoom };
  const whole = useRef<() => void>(() => undefined);
  const finer = useRef(detail);
  finer.current = detail;

  useEffect(() => {
    const element = place.current;
    if (!element || !isNear) return;
    const faint = css("--line");
    const axis = { stroke: css("--soft"), grid: { stroke: faint, width: 1 }, ticks: { stroke: faint, width: 1 }, font: "11px system-ui" };
    const members = group ? (groups.get(group) ?? groups.set(group, new Set()).get(group)!) : null;
    let moving = false, filling = false, ready = false;
    let refined = () => undefined as void;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        cursor: {
          // the edges of all of it are those of the outline, not of the part that was fetched
          bind: { dblclick: (_, __, handler) => (event) => (whole.current(), handler(event)) },
          drag: { x: true, y: false }, sync: group ? { key: group } : undefined, points: { size: 5 },
        },
        legend: { live: true },
        scales: { x: { time: false }, y: log ? { distr: 3 } : {} },
        series: [
          { label: over.name, value: (_, v) => (v == null ? "" : spaced(Number(v.toPrecision(5)), over.unit)) },
          ...series.map((s) => ({
            label: s.label,
            class: s.quiet ? "quiet" : undefined,
            stroke: css(s.colour) || s.colour,
            width: s.width ?? WIDTH,
            dash: s.dash,
            paths: s.points ? () => null : lines(s.width ?? WIDTH),
            points: s.points ? { show: true, size: s.width ?? 3, width: 0, fill: css(s.colour) || s.colour } : { show: false },
            value: (_: uPlot, v: number | null) => (v == null ? "" : `${Number(v.toPrecision(5))}`),
          })),
        ],
        axes: [
          { ...axis, size: 26, values: (_, ticks) => ticks.map((v) => spaced(v, short(over.unit))) },
          log ? { ...axis, size: 54, splits: (own) => powers(own.scales.y.min, own.scales.y.max), filter: (_, splits) => splits, values: (_, ticks) => ticks.map(power) } : { ...axis, size: 54 },
        ],
        hooks: {
          setScale: [
            (own, scale) => {
              if (scale === "x") putMark.current();
              if (scale === "x" && finer.current) refined();
              if (scale === "x" && ready && !moving && !filling) zoomed.current.onZoom?.(part(own));
              if (scale !== "x" || moving || !members) return;
              moving = true;
              const { min, max } = own.scales.x;
              for (const other of members)
                if (other !== own && min != null && max != null && (other.scales.x.min !== min || other.scales.x.max !== max))
                  other.setScale("x", { min, max });
              moving = false;
            },
          ],
          setCursor: [
            (own) => {
              const { left, event } = own.cursor;
              // of this plot, not of one that shares its cursor
              const isPointed = event ? hasMoved(event) && own.over.matches(":hover") : element === document.activeElement;
              if (ready && shared && left != null && left >= 0 && isPointed) shared.seek(own.posToVal(left, "x"));
            },
          ],
          draw: [
            (own) => {
              if (span) {
                const [from, to] = span.map((x) => own.valToPos(x, "x", true));
                own.ctx.save();
                own.ctx.globalAlpha = 0.15;
                own.ctx.fillStyle = css("--warn");
                own.ctx.fillRect(from, own.bbox.top, Math.max(2, to - from), own.bbox.height);
                own.ctx.restore();
              }
              for (const place of marks ?? []) {
                const x = own.valToPos(place, "x", true);
                own.ctx.save();
                own.ctx.strokeStyle = css("--soft");
                own.ctx.setLineDash([4, 4]);
                own.ctx.beginPath();
                own.ctx.moveTo(x, own.bbox.top);
                own.ctx.lineTo(x, own.bbox.top + own.bbox.height);
                own.ctx.stroke();
                own.ctx.restore();
              }
              for (const bound of bounds ?? []) {
                if (bound === null) continue;
                const y = own.valToPos(bound, "y", true);
                if (y < own.bbox.top || y > own.bbox.top + own.bbox.height) continue;
                own.ctx.save();
                own.ctx.strokeStyle = css("--warn");
                own.ctx.setLineDash([4, 4]);
                own.ctx.beginPath();
                own.ctx.moveTo(own.bbox.left, y);
                own.ctx.lineTo(own.bbox.left + own.bbox.width, y);
                own.ctx.stroke();
                own.ctx.restore();
              }
            },
          ],
        },
      },
      [t, ...series.map((s) => s.values)] as uPlot.AlignedData,
      element,
    );
    const own = document.createElement("i");
    own.className = "u-now";
    made.over.append(own);
    putMark.current = () => {
      const x = marked.current === undefined ? -1 : made.valToPos(marked.current, "x");
      own.hidden = !(x >= 0 && x <= made.over.clientWidth);
      own.style.transform = `translateX(${x}px)`;
    };
    if (zoomed.current.zoom) made.setScale("x", { min: zoomed.current.zoom[0], max: zoomed.current.zoom[1] });
    queueMicrotask(() => {
      ready = true; // the plot has put its own first scale by then
      putMark.current();
    });
    let settling = 0;
    const outline = [t, ...series.map((s) => s.values)] as uPlot.AlignedData;
    const refine = () => {
      const { min, max } = made.scales.x;
      if (!finer.current || min == null || max == null) return;
      const put = (data: uPlot.AlignedData) => {
        if (plot.current !== made || made.scales.x.min !== min || made.scales.x.max !== max) return;
        filling = true;
        made.setData(data, false);
        made.setScale("x", { min, max });
        filling = false;
      };
      if (min <= t[0] && max >= t[t.length - 1]) put(outline);
      else void finer.current(min, max).then((found) => found && put([found.t, ...found.values] as uPlot.AlignedData), () => undefined);
    };
    whole.current = () => {
      if (made.data[0] === t) return;
      filling = true;
      made.setData(outline, false);
      filling = false;
    };
    refined = () => {
      if (filling) return;
      window.clearTimeout(settling);
      settling = window.setTimeout(refine, SETTLED);
    };
    plot.current = made;
    fresh.current = true;
    members?.add(made);
    const resize = new ResizeObserver(() => {
      if (made.width !== element.clientWidth) made.setSize({ width: element.clientWidth, height }); // it tells the first size, too
      putMark.current();
    });
    resize.observe(element);
    return () => {
      window.clearTimeout(settling);
      resize.disconnect();
      members?.delete(made);
      made.destroy();
      plot.current = null;
    };
    // curves that change keep their plot; other lines, or other colours, need a new one
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [t, key, dark, height, group, log, series.length, shared, isNear]);

  useEffect(() => {
    const made = plot.current;
    if (fresh.current) {
      fresh.current = false;
      return;
    }
    if (!made || made.data[0] !== t || series.every((s, k) => s.values === made.data[k + 1])) return;
    const { min, max } = made.scales.x;
    made.setData([t, ...series.map((s) => s.values)] as uPlot.AlignedData, false);
    if (min != null && max != null) made.setScale("x", { min, max }); // the part that is shown stays, heights follow
  }, [series, t]);

  useEffect(() => {
    if (shared) return;
    marked.current = mark;
    putMark.current();
  }, [mark, shared]);

  useEffect(
    () =>
      shared?.follow((time) => {
        marked.current = time;
        putMark.current();
      }),
    [shared],
  );

  return (
    <figure className="plot">
      <figcaption>
        {title}{" "}
        <span className="soft">
          [{unit}]{over !== TIME && over.unit && ` over ${over.name} [${over.unit}]`}
        </span>
      </figcaption>
      <div
        ref={place}
        style={isNear ? undefined : { minHeight: height + LEGEND }}
        role="group"
        tabIndex={0}
        aria-label={`${title}: ${series.map((s) => s.label).join(", ")} over ${over === TIME ? "time" : over.name}; arrow keys show values, plus and minus zoom`}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || !plot.current) return;
          if (["0", "Escape", "-"].includes(event.key)) whole.current();
          if (pressed(plot.current, event.key)) event.preventDefault();
        }}
      />
    </figure>
  );
}
