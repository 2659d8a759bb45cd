import { type KeyboardEvent, useMemo, useState } from "react";
import type { FleetView } from "../types";
import { Scroll, SelectField, TextField } from "./bits";

const ROW = 16, FOOT = 18;
const DRAWN = 100; // rows at first: a thousand robots open as quickly as a hundred
const TAGS = ["type", "line", "program"] as const;
type Tag = (typeof TAGS)[number];
const NARROWEST = 3, WIDEST = 14; // px of a day
const DATE = 32; // px of a date

export type StripView = Pick<FleetView, "first" | "last" | "days" | "shades" | "robots">;

/** A row a robot, a column a day; colour is how rarely so much evidence comes up by chance. */
export function Strip({ view, robot, onPick }: { view: StripView; robot?: string; onPick?: (name: string) => void }) {
  const [query, setQuery] = useState("");
  const [by, setBy] = useState<Tag | "">("");
  const [isWhole, setWhole] = useState(false);
  const found = useMemo(() => searched(view.robots, query), [view, query]);
  const rows = useMemo(() => (isWhole ? found : found.slice(0, DRAWN)).map((own) => ({ ...own, parts: runs(own.days) })), [found, isWhole]);
  const tags = TAGS.filter((tag) => new Set(view.robots.map((own) => own[tag])).size > 1);
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
    {view.robots.length > 12 && (
      <div className="bar">
        <TextField label="search" placeholder="name, type, line, program" value={query} onChange={setQuery} />
        {tags.length > 0 && <SelectField label="group by" value={by} options={["", ...tags]} names={{ "": "nothing" }} onChange={(value) => setBy(value as Tag | "")} />}
        <span className="soft" role="status">{found.length} of {view.robots.length} robots</span>
      </div>
    )}
    {by && (
      <p className="legend">
        {groups(view.robots, by).map(({ name, robots, guilty }) => (
          <button key={name} type="button" className="plain" onClick={() => setQuery(name)}>
            {name || "none"}: {robots} {robots === 1 ? "robot" : "robots"}, {guilty} with alarms
          </button>
        ))}
      </p>
    )}
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
          <text key={k} x={Math.min(NAME + every * CELL * k, width - DATE)} y={height - 4}>
            {new Date(first + every * k * 86_400_000).toISOString().slice(5, 10)}
          </text>
        ))}
      </svg>
    </Scroll>
    {rows.length < found.length && (
      <button type="button" onClick={() => setWhole(true)}>
        Show all {found.length} robots
      </button>
    )}
    </>
  );
}

/** Robots whose name, type, line or program contains every word of a query. */
function searched(robots: StripView["robots"], query: string): StripView["robots"] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return robots.filter((own) => {
    const text = [own.name, own.type, own.line, own.program].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Robots and robots with alarms of each type, line or program; those with most alarms first. */
function groups(robots: StripView["robots"], by: Tag): { name: string; robots: number; guilty: number }[] {
  const found = new Map<string, { name: string; robots: number; guilty: number }>();
  for (const own of robots) {
    const group = found.get(own[by]) ?? { name: own[by], robots: 0, guilty: 0 };
    found.set(own[by], { ...group, robots: group.robots + 1, guilty: group.guilty + Number(own.alarms > 0) });
  }
  return [...found.values()].sort((a, b) => b.guilty - a.guilty || a.name.localeCompare(b.name));
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
