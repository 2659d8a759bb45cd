import { useMemo, useState } from "react";
import type { Correlations } from "../types";
import { Scroll } from "./bits";
import { ParameterName } from "./names";

const STRONG = 0.9;
const SHADES = 20; // of each colour; what is weaker than the first is not drawn

/** Places of the map by shade: a path for each, not an element for each of thousands of places. */
function shaded(values: Correlations["values"]): { shade: number; cells: [number, number][] }[] {
  const found = new Map<number, [number, number][]>();
  values.forEach((row, i) =>
    row.forEach((v, j) => {
      const shade = Math.round(SHADES * (v ?? 0));
      if (shade) (found.get(shade) ?? found.set(shade, []).get(shade)!).push([i, j]);
    }),
  );
  return [...found].map(([shade, cells]) => ({ shade, cells }));
}

/** Correlations of all values with one another as a map; the strongest pairs in words below it. */
export function CorrelationMap({ data }: { data: Correlations }) {
  const { names, values } = data;
  const [at, setAt] = useState<[number, number] | null>(null);
  const strong = useMemo(() => {
    const pairs: [number, number, number][] = [];
    values.forEach((row, i) => row.forEach((v, j) => j < i && v !== null && Math.abs(v) >= STRONG && pairs.push([i, j, v])));
    return pairs.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  }, [values]);
  const shades = useMemo(() => shaded(values), [values]);
  if (names.length < 2) return null;
  const size = Math.max(7, Math.min(22, Math.floor(660 / names.length)));
  const head = 46;
  const shownAt = at ? values[at[0]][at[1]] : null;
  return (
    <>
      <p className="soft">
        Blue: two values rise together, orange: one rises as the other falls; the darker, the more. Values tied this closely are known less well apart than in combination.
      </p>
      <Scroll label="Correlations of the values">
        <svg
          className="map-picture"
          width={head + names.length * size}
          height={head + names.length * size}
          role="img"
          aria-label={`Correlations of ${names.length} values; the strongest are listed below`}
          onPointerLeave={() => setAt(null)}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            const j = Math.floor((event.clientX - box.left - head) / size), i = Math.floor((event.clientY - box.top - head) / size);
            setAt(i >= 0 && j >= 0 && i < names.length && j < names.length ? [i, j] : null);
          }}
        >
          {shades.map(({ shade, cells }) => (
            <path key={shade} className={shade > 0 ? "up" : "down"} opacity={Math.abs(shade) / SHADES} d={cells.map(([i, j]) => `M${head + j * size} ${head + i * size}h${size - 1}v${size - 1}h${1 - size}z`).join("")} />
          ))}
          {names.map((name, k) => (
            <g key={name} className={at && at.includes(k) ? "named lit" : "named"} fontSize={Math.min(11, size + 1)}>
              <text x={head - 4} y={head + k * size + size * 0.75} textAnchor="end">
                {name}
              </text>
              <text transform={`translate(${head + k * size + size * 0.75} ${head - 4}) rotate(-90)`}>{name}</text>
            </g>
          ))}
        </svg>
      </Scroll>
      <p className="map-words" aria-live="polite">
        {at && at[0] !== at[1] ? (
          <>
            <ParameterName name={names[at[0]]} /> and <ParameterName name={names[at[1]]} />: {shownAt === null ? "–" : shownAt.toFixed(2).replace("-", "\u2212")}
          </>
        ) : strong.length ? (
          <>
            Beyond {STRONG}:{" "}
            {strong.slice(0, 12).map(([i, j, v], k) => (
              <span key={k}>
                {k > 0 && ", "}
                <ParameterName name={names[i]} /> and <ParameterName name={names[j]} /> {v.toFixed(2).replace("-", "\u2212")}
              </span>
            ))}
            {strong.length > 12 && ` and ${strong.length - 12} more pairs`}
          </>
        ) : (
          `No two values are tied by more than ${STRONG}.`
        )}
      </p>
    </>
  );
}
