import { type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { LooksContext } from "./look";

export const LONG = 120; // rows from which a table is drawn in parts
const PART = 30; // rows of a part
export const TERMS = 8; // terms of a sum that are drawn at first

/** Rows of a table; of a long one, parts that are not seen are one empty row each. Pages that may be printed have all. */
export function Rows<T>({ rows, columns, height, children }: { rows: T[]; columns: number; height: number; children: (row: T) => ReactNode }) {
  const isStudio = !!useContext(LooksContext);
  if (!isStudio || rows.length <= LONG) return <tbody>{rows.map(children)}</tbody>;
  const parts = Array.from({ length: Math.ceil(rows.length / PART) }, (_, k) => rows.slice(k * PART, (k + 1) * PART));
  return parts.map((part, k) => (
    <Part key={k} columns={columns} height={height * part.length} isFirst={k === 0}>
      {() => part.map(children)}
    </Part>
  ));
}

/** Rows that are drawn while they are seen, and keep their height when they are not. */
function Part({ columns, height, isFirst, children }: { columns: number; height: number; isFirst: boolean; children: () => ReactNode }) {
  const place = useRef<HTMLTableSectionElement>(null);
  const [isNear, setNear] = useState(isFirst);
  const [tall, setTall] = useState(height);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new IntersectionObserver(
      (all) => {
        const near = all[all.length - 1].isIntersecting;
        if (!near) setTall(element.offsetHeight);
        setNear(near);
      },
      { root: element.closest(".scroll.tall"), rootMargin: "300px" },
    );
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return (
    <tbody ref={place}>
      {isNear ? (
        children()
      ) : (
        <tr aria-hidden="true" style={{ height: tall }}>
          <td colSpan={columns} />
        </tr>
      )}
    </tbody>
  );
}

/** The first terms of a long sum, and a button for the others; pages that may be printed have all. */
export function useTerms<T>(all: T[]): [T[], ReactNode] {
  const isStudio = !!useContext(LooksContext);
  const [whole, setWhole] = useState(false);
  if (!isStudio || whole || all.length <= TERMS + 1) return [all, null];
  return [
    all.slice(0, TERMS),
    <button type="button" className="plain" onClick={() => setWhole(true)}>
      … {all.length - TERMS} more terms
    </button>,
  ];
}
