import { type ComponentType, type MouseEvent, type ReactNode, useEffect } from "react";
import { createRoot } from "react-dom/client";
import { Facts, Panel } from "../parts/bits";
import { Sentences } from "../parts/table";
import "../style.css";
import "./pages.css";

export interface PageData<View = unknown> { kind: string; title: string; version: string; view: View }
export interface Part { id: string; title: string; body: ReactNode }

/** A page: what it is about, its summary first, then parts with a list of them beside it. */
export function Document({ data, summary, parts }: { data: PageData; summary: ReactNode; parts: (Part | false | null | undefined)[] }) {
  const shown = parts.filter((part): part is Part => !!part);
  return (
    <div className="document">
      <a className="skip" href="#summary" onClick={(event) => goTo(event, "summary")}>
        Skip to the summary
      </a>
      <nav className="contents" aria-label="Contents">
        <p className="brand">
          <b>minertia</b>
        </p>
        <ol>
          {[{ id: "summary", title: "Summary" }, ...shown].map((part) => (
            <li key={part.id}>
              <a href={`#${part.id}`} onClick={(event) => goTo(event, part.id)}>
                {part.title}
              </a>
            </li>
          ))}
        </ol>
      </nav>
      <main>
        <h1>{data.title}</h1>
        <div className="stack">
          <Panel id="summary">
            <h2 className="hidden">Summary</h2>
            {summary}
          </Panel>
          {shown.map((part) => (
            <Panel key={part.id} id={part.id} title={part.title}>
              {part.body}
            </Panel>
          ))}
        </div>
        <footer>minertia {data.version}. This page needs no network; everything in it is in this file.</footer>
      </main>
    </div>
  );
}

/** Within a notebook's frame an address of this page alone would load the notebook in the frame. */
function goTo(event: MouseEvent<HTMLAnchorElement>, id: string) {
  const place = document.getElementById(id);
  if (!place) return;
  event.preventDefault();
  place.tabIndex = -1;
  place.scrollIntoView();
  place.focus({ preventScroll: true });
}

/** How a result was made, as the last part of its page. */
export function made(pairs: [string, string][] | undefined): Part | null {
  return pairs?.length ? { id: "made", title: "How this was made", body: <Facts pairs={pairs} /> } : null;
}

/** Sentences as a part, where there are any. */
export function told(id: string, title: string, texts: string[] | undefined, lead?: string): Part | null {
  if (!texts?.length) return null;
  return {
    id,
    title,
    body: (
      <>
        {lead && <p className="soft">{lead}</p>}
        <Sentences texts={texts} />
      </>
    ),
  };
}

/** Whoever prints the page waits for this mark; it comes when everything inside has been drawn. */
function Ready({ children }: { children: ReactNode }) {
  useEffect(() => {
    document.documentElement.dataset.ready = "yes";
  }, []);
  return children;
}

/** Draw the page that the data in this file ask for. */
export function mount(kinds: Record<string, ComponentType<{ data: PageData<never> }>>) {
  const data = JSON.parse(document.getElementById("data")!.textContent!) as PageData<never>;
  const Page = kinds[data.kind];
  createRoot(document.getElementById("page")!).render(
    <Ready>
      <Page data={data} />
    </Ready>,
  );
}
