import { type ComponentType, lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { startJob } from "./api";
import { CampaignProvider } from "./campaign";
import { latest, type Studio, StudioContext, usePath, useProject } from "./studio";
import type { Project } from "./types";

const STEPS: { path: string; title: string; about: string; page: ComponentType }[] = [
  { path: "robot", title: "Robot", about: "what its efforts show", page: lazy(() => import("./steps/robot")) },
  { path: "excite", title: "Excite", about: "motion to run", page: lazy(() => import("./steps/excite")) },
  { path: "data", title: "Data", about: "logs, columns, audit", page: lazy(() => import("./steps/data")) },
  { path: "identify", title: "Identify", about: "effects, estimator, fit", page: lazy(() => import("./steps/identify")) },
  { path: "validate", title: "Validate", about: "curves and verdict", page: lazy(() => import("./steps/validate")) },
  { path: "control", title: "Control", about: "tracking, played", page: lazy(() => import("./steps/control")) },
  { path: "code", title: "Code", about: "for the controller", page: lazy(() => import("./steps/code")) },
  { path: "fleet", title: "Fleet", about: "robots over days", page: lazy(() => import("./steps/fleet")) },
  { path: "runs", title: "Runs", about: "two side by side", page: lazy(() => import("./steps/runs")) },
];
const KIND: Record<string, string> = { robot: "robot", excite: "excite", data: "check", identify: "identify", control: "control", code: "generate", fleet: "fleet" };

/** How a step stands: running, done, failed, or nothing yet. */
function standing(project: Project, step: string): string {
  const job = KIND[step] ? latest(project, KIND[step]) : undefined;
  if (step === "data") return project.check ? "done" : job?.state === "running" ? "running" : "";
  if (step === "validate") return latest(project, "identify", "done") ? "done" : "";
  if (!job) return "";
  return job.state === "running" || job.state === "done" ? job.state : "failed";
}

const WORDS: Record<string, string> = { running: "running", done: "done", failed: "failed" };

export function App() {
  const [sentence, say] = useState<string | null>(null);
  const told = useCallback((text: string) => say(text), []);
  const [project, refresh, put] = useProject(told);
  const [path, go] = usePath();

  const run = useCallback(
    async (kind: string, settings: object = {}) => {
      say(null);
      try {
        const job = await startJob(kind, settings);
        put(job);
        return job;
      } catch (error) {
        say((error as Error).message);
        return null;
      }
    },
    [put],
  );

  useEffect(() => {
    document.title = `${path[0] ?? "robot"} · minertia studio`;
    document.querySelector(".steps [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [path[0], !project]);

  const studio = useMemo<Studio | null>(
    () => (project ? { project, path, go, refresh, run, say } : null),
    [project, path, go, refresh, run],
  );

  if (!project || !studio)
    return (
      <main className="alone">
        {sentence ? (
          <div className="message bad" role="alert">
            <b>The studio</b>
            <span>{sentence}</span>
          </div>
        ) : (
          <p className="empty">Opening the folder …</p>
        )}
      </main>
    );
  const step = STEPS.find((s) => s.path === path[0]) ?? STEPS[0];
  const Page = step.page;
  return (
    <StudioContext.Provider value={studio}>
      <CampaignProvider>
        <a className="skip" href="#main">
          Skip to the step
        </a>
        <header className="top">
          <span className="brand">
            minertia <b>studio</b>
          </span>
          <span className="where" title={project.folder}>
            {project.name}
          </span>
          <span className="robot-name">{project.robot?.title ?? "no robot yet"}</span>
        </header>
        <nav className="steps" aria-label="Steps">
          <ol>
            {STEPS.filter((s) => s.path !== "fleet" || project.stores.length > 0).map(({ path: own, title, about }) => {
              const state = standing(project, own);
              return (
                <li key={own}>
                  <a
                    href={`/${own}`}
                    aria-current={own === step.path ? "step" : undefined}
                    onClick={(e) => {
                      e.preventDefault();
                      go(`/${own}`);
                    }}
                  >
                    <i className={own === "runs" ? "dot no" : `dot ${state}`} aria-hidden="true" />
                    <span>
                      {title}
                      {state && <span className="hidden"> ({WORDS[state]})</span>}
                    </span>
                    <small>{about}</small>
                  </a>
                </li>
              );
            })}
          </ol>
          <p className="version">minertia {project.version}</p>
        </nav>
        <main id="main" tabIndex={-1}>
          <h1>{step.title}</h1>
          {sentence && (
            <div className="message bad" role="alert">
              <b>Not done</b>
              <span>{sentence}</span>
              <button type="button" className="plain" onClick={() => say(null)} aria-label="Dismiss the message">
                ×
              </button>
            </div>
          )}
          <Suspense fallback={<p className="empty">…</p>}>
            <Page />
          </Suspense>
        </main>
      </CampaignProvider>
    </StudioContext.Provider>
  );
}
