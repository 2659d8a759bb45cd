import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  label: string;
  values: (number | null)[];
  colour: string; // name of a CSS variable
  dash?: number[];
  width?: number;
}

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

/** Curves over time: drag to zoom, double-click for all of it; plots of one group zoom and point together. */
export function Plot({ title, t, series, unit, height = 170, group, bounds }: {
  title: string;
  t: number[];
  series: Series[];
  unit: string;
  height?: number;
  group?: string;
  bounds?: (number | null)[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const fresh = useRef(true);
  const dark = useTheme();
  const key = series.map((s) => s.label).join("|");

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const line = css("--line");
    const axis = { stroke: css("--soft"), grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "11px system-ui" };
    const members = group ? (groups.get(group) ?? groups.set(group, new Set()).get(group)!) : null;
    let moving = false;
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        cursor: { drag: { x: true, y: false }, sync: group ? { key: group } : undefined, points: { size: 5 } },
        legend: { live: true },
        scales: { x: { time: false } },
        series: [
          { label: "t", value: (_, v) => (v === null ? "–" : `${v.toFixed(3)} s`) },
          ...series.map((s) => ({
            label: s.label,
            stroke: css(s.colour) || s.colour,
            width: s.width ?? 1.4,
            dash: s.dash,
            points: { show: false },
            value: (_: uPlot, v: number | null) => (v === null ? "–" : `${Number(v.toPrecision(5))}`),
          })),
        ],
        axes: [
          { ...axis, size: 26, values: (_, ticks) => ticks.map((v) => `${v} s`) },
          { ...axis, size: 54 },
        ],
        hooks: {
          setScale: [
            (own, scale) => {
              if (scale !== "x" || moving || !members) return;
              moving = true;
              const { min, max } = own.scales.x;
              for (const other of members)
                if (other !== own && min != null && max != null && (other.scales.x.min !== min || other.scales.x.max !== max))
                  other.setScale("x", { min, max });
              moving = false;
            },
          ],
          draw: [
            (own) => {
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
    plot.current = made;
    fresh.current = true;
    members?.add(made);
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      members?.delete(made);
      made.destroy();
      plot.current = null;
    };
    // curves that change keep their plot; other lines, or other colours, need a new one
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [t, key, dark, height, group, series.length]);

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

  return (
    <figure className="plot">
      <figcaption>
        {title} <span className="soft">[{unit}]</span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${series.map((s) => s.label).join(", ")} over time`} />
    </figure>
  );
}
