import { type KeyboardEvent, useMemo } from "react";
import type { FleetView } from "../types";
import { Scroll } from "./bits";

const ROW = 16, FOOT = 18;
const NARROWEST = 3, WIDEST = 14; // px of a day

export type StripView = Pick<FleetView, "first" | "last" | "days" | "shades" | "robots">;

/** A row a robot, a column a day; colour is how rarely so much evidence comes up by chance. */
export function Strip({ view, robot, onPick }: { view: StripView; robot?: string; onPick?: (name: string) => void }) {
  const rows = useMemo(() => view.robots.map((own) => ({ ...own, parts: runs(own.days) })), [view]);
  const pressed = (name: string) => (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    onPick?.(name);
  };
  const { name: NAME, cell: CELL } = useMemo(() => measures(view), [view]);
  const width = NAME + CELL * view.days, height = ROW * rows.length + FOOT;
  const every = 14 * Math.max(1, Math.ceil(3.2 / CELL)); // days between two dates that are written
  const first = new Date(`${view.first}T00:00:00Z`).getTime();
  return (
    <>
    <p className="legend">
      {Object.entries(view.shades).map(([shade, words]) => (
        <span key={shade} className="shade-key">
          <i className={`shade ${shade}`} aria-hidden="true" /> {words}
        </span>
      ))}
    </p>
    <Scroll label="Every robot, every day" tall>
      <svg className="fleet-strip" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={`evidence of ${rows.length} robots by day`}>
        {rows.map((own, k) => (
          <g key={own.name} aria-label={`${own.name}: ${own.alarms ? `${own.alarms} alarms` : "no alarm"}`} {...(onPick ? { role: "button", tabIndex: 0, "aria-pressed": own.name === robot, onClick: () => onPick(own.name), onKeyDown: pressed(own.name) } : { role: "img" })}>
            {own.name === robot && <rect x={0} y={ROW * k} width={width} height={ROW} className="picked" />}
            <text x={NAME - 6} y={ROW * k + 12} textAnchor="end" className={own.alarms ? "guilty" : undefined}>
              {own.name.slice(0, 16)}
            </text>
            {own.parts.map(([shade, start, length]) => (
              <rect key={start} x={NAME + CELL * start} y={ROW * k + 2} width={CELL * length} height={ROW - 4} className={`shade ${shade}`} />
            ))}
          </g>
        ))}
        {Array.from({ length: Math.ceil(view.days / every) }, (_, k) => (
          <text key={k} x={NAME + every * CELL * k} y={height - 4}>
            {new Date(first + every * k * 86_400_000).toISOString().slice(5, 10)}
          </text>
        ))}
      </svg>
    </Scroll>
    </>
  );
}

/** Widths [px] of the names and of a day: as many days as there is room for, without scrolling where that can be. */
function measures(view: StripView): { name: number; cell: number } {
  const name = 14 + 6.6 * Math.max(4, ...view.robots.map((own) => Math.min(16, own.name.length)));
  const room = window.innerWidth - (window.innerWidth > 760 ? 300 : 60) - name;
  return { name, cell: Math.max(NARROWEST, Math.min(WIDEST, room / view.days)) };
}

/** Neighbouring days of one shade as one piece: shade, first day, how many. */
function runs(days: string[]): [string, number, number][] {
  const found: [string, number, number][] = [];
  days.forEach((shade, k) => {
    const last = found[found.length - 1];
    if (last && last[0] === shade) last[2] += 1;
    else found.push([shade, k, 1]);
  });
  return found.filter(([shade]) => shade !== "hole");
}
