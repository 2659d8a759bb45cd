import type { ReactNode } from "react";
import { Scroll } from "./bits";
import { LONG, Rows } from "./window";

export interface Column { title: ReactNode; number?: boolean; className?: string }
export interface Row { key: string; cells: ReactNode[]; className?: string }

/** A table whose first column names the rows; a title alone is a column of text. */
export function DataTable({ label, columns, rows, tall }: { label: string; columns: (string | Column)[]; rows: Row[]; tall?: boolean }) {
  const all = columns.map((column) => (typeof column === "string" ? { title: column } : column) as Column);
  const style = (k: number) => [all[k]?.number ? "number" : "", all[k]?.className ?? ""].join(" ").trim() || undefined;
  return (
    <Scroll label={label} tall={tall || rows.length > LONG}>
      <table>
        <thead>
          <tr>
            {all.map((column, k) => (
              <th key={k} scope="col" className={style(k)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <Rows rows={rows} columns={all.length} height={30}>
          {(row) => (
            <tr key={row.key} className={row.className}>
              <th scope="row" className={style(0)}>
                {row.cells[0]}
              </th>
              {row.cells.slice(1).map((cell, k) => (
                <td key={k} className={style(k + 1)}>
                  {cell}
                </td>
              ))}
            </tr>
          )}
        </Rows>
      </table>
    </Scroll>
  );
}

/** A column of numbers. */
export const numbers = (title: ReactNode): Column => ({ title, number: true });

/** One choice of several, as a row of buttons. */
export function Segment({ label, options, value, onChange }: { label: string; options: { key: string; title: ReactNode }[]; value: string; onChange: (key: string) => void }) {
  return (
    <span className="segment" role="group" aria-label={label}>
      {options.map(({ key, title }) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>
          {title}
        </button>
      ))}
    </span>
  );
}

export function Sentences({ texts }: { texts: string[] }) {
  return (
    <ul className="sentences">
      {texts.map((text, k) => (
        <li key={k}>{text}</li>
      ))}
    </ul>
  );
}

/** A part of a whole as a bar; what is more than the whole fills it. */
export function Meter({ part, poor }: { part: number; poor?: boolean }) {
  return (
    <span className="meter" aria-hidden="true">
      <i className={poor ? "poor" : undefined} style={{ width: `${Math.min(100, 100 * part)}%` }} />
    </span>
  );
}
