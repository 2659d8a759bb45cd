import { Component, type ComponentType, type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { cancelJob, startJob } from "./api";
import { CampaignProvider } from "./campaign";
import { useElapsed } from "./parts/bits";
import { taken } from "./parts/files";
import { AddressLooks, LooksContext } from "./parts/look";
import { latest, newest, type Studio, StudioContext, usePath, useProject, useStudio } from "./studio";
import type { Job, Project } from "./types";

interface Step { path: string; title: string; about: string; load: () => Promise<{ default: ComponentType }> }

const STEPS: Step[] = [
  { path: "start", title: "Start", about: "robots, sample", load: () => import("./steps/start") },
  { path: "robot", title: "Robot", about: "base parameters", load: () => import("./steps/robot") },
  { path: "excite", title: "Excite", about: "excitation trajectory", load: () => import("./steps/excite") },
  { path: "data", title: "Data", about: "logs, columns, audit", load: () => import("./steps/data") },
  { path: "identify", title: "Identify", about: "effects, estimator, fit", load: () => import("./steps/identify") },
  { path: "validate", title: "Validate", about: "curves and verdict", load: () => import("./steps/validate") },
  { path: "calibrate", title: "Calibrate", about: "lengths, angles, zeros", load: () => import("./steps/calibrate") },
  { path: "wrench", title: "Wrench", about: "tool on a force sensor", load: () => import("./steps/wrench") },
  { path: "control", title: "Control", about: "tracking, played", load: () => import("./steps/control") },
  { path: "code", title: "Code", about: "for the controller", load: () => import("./steps/code") },
  { path: "fleet", title: "Fleet", about: "robots over days", load: () => import("./steps/fleet") },
  { path: "runs", title: "Runs", about: "all results, compared", load: () => import("./steps/runs") },
];
const KIND: Record<string, string> = { robot: "robot", excite: "excite", data: "check", identify: "identify", calibrate: "calibrate", wrench: "wrench", control: "control", code: "generate", fleet: "fleet" };

/** How a step stands: running, done, stale (of another robot, campaign or file), failed, or nothing yet. */
function standing(project: Project, step: string): string {
  const kind = step === "validate" ? "identify" : KIND[step];
  const job = kind ? latest(project, kind) : undefined;
  const result = kind ? newest(project, kind) : undefined;
  const came = !result ? "" : result.stale.length ? "stale" : "done";
  if (step === "data") return project.check ? "done" : job?.state === "running" ? "running" : "";
  if (step === "validate") return came;
  if (!job) return "";
  return job.state === "running" ? "running" : job.state === "done" ? came : "failed";
}

const WORDS: Record<string, string> = { running: "running", done: "done", stale: "made for another robot, campaign or file", failed: "failed" };

export function App() {
  const [sentence, say] = useState<string | null>(null);
  const told = useCallback((text: string) => say(text), []);
  const { project, refresh, put, look, write, revision, trouble } = useProject(told);
  const [looks] = useState(() => new AddressLooks());
  const [path, go] = usePath(looks.read);

  const run = useCallback(
    async (kind: string, settings: object = {}) => {
      say(null);
      try {
        const job = await startJob(kind, settings);
        put(job);
        return job;
      } catch (error) {
        say((error as Error).message);
        void look();
        return null;
      }
    },
    [put, look],
  );

  const [chain, setChain] = useState<{ check?: string; run?: string } | null>(null);
  const checked = project?.check;
  const identify = useCallback(async () => {
    const job = await run(checked ? "identify" : "check");
    if (job) setChain(checked ? { run: job.name } : { check: job.name });
  }, [run, checked]);
  useEffect(() => {
    const job = chain && project?.jobs.find((one) => one.name === (chain.check ?? chain.run));
    if (!job || job.state === "running") return;
    if (job.state !== "done") return setChain(null);
    if (chain.run) {
      setChain(null);
      if (path[0] === "identify" || path[0] === "data") go(`/validate/${job.name}`);
    } else if (job.grade !== "good") setChain(null);
    else if (checked === job.name) {
      setChain({});
      void run("identify").then((made) => setChain(made ? { run: made.name } : null));
    }
  }, [chain, project, checked, path, go, run]);

  const over = useDrop(project, refresh, say, write, go);

  useEffect(() => {
    document.title = `${path[0] ?? "start"} · minertia studio`;
    document.querySelector(".steps [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  }, [path[0], !project]);

  const studio = useMemo<Studio | null>(
    () => (project ? { project, path, go, refresh, run, identify, isChained: !!chain, say, look, write, revision, trouble } : null),
    [project, path, go, refresh, run, identify, chain, look, write, revision, trouble],
  );

  if (!project || !studio)
    return (
      <main className="alone">
        {trouble ? (
          <NoAnswer trouble={trouble} again={refresh} />
        ) : sentence ? (
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
  return (
    <StudioContext.Provider value={studio}>
      <LooksContext.Provider value={looks}>
        {over && (
          <p className="drop-over" role="status">
            Drop robots, meshes and logs here.
          </p>
        )}
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
          <RunningJobs project={project} />
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
                    <i className={own === "runs" || own === "start" ? "dot no" : `dot ${state}`} aria-hidden="true" />
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
          {trouble && <NoAnswer trouble={trouble} again={look} />}
          {sentence && !trouble && (
            <div className="message bad" role="alert">
              <b>Not done</b>
              <span>{sentence}</span>
              <button type="button" className="plain" onClick={() => say(null)} aria-label="Dismiss the message">
                ×
              </button>
            </div>
          )}
          <CampaignProvider>
            <Shown key={step.path} trouble={trouble}>
              <StepPage step={step} />
            </Shown>
          </CampaignProvider>
        </main>
      </LooksContext.Provider>
    </StudioContext.Provider>
  );
}

/** Jobs that run, on every step, each with a way to end it. */
function RunningJobs({ project }: { project: Project }) {
  const { refresh, say } = useStudio();
  const end = (name: string) => void cancelJob(name).then(refresh, (error: Error) => say(error.message));
  return (
    <>
      {project.jobs
        .filter((job) => job.state === "running" && job.kind !== "robot")
        .map((job) => (
          <span key={job.name} className="running-job">
            <i className="dot running" aria-hidden="true" /> {job.name} <RunningTime job={job} />
            <button type="button" className="plain" aria-label={`Stop ${job.name}`} onClick={() => end(job.name)}>
              ×
            </button>
          </span>
        ))}
    </>
  );
}

const RunningTime = ({ job }: { job: Job }) => <span className="soft">{useElapsed(job)}</span>;

/** The whole page as a place to drop files: each goes where its name says, and its step is opened. */
function useDrop(project: Project | null, refresh: () => Promise<void>, say: (sentence: string | null) => void, write: Studio["write"], go: (path: string) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    if (!project) return;
    let leaving = 0;
    const isFiles = (event: DragEvent) => !!event.dataTransfer?.types.includes("Files");
    const drag = (event: DragEvent) => {
      if (!isFiles(event)) return;
      event.preventDefault();
      setOver(true);
      window.clearTimeout(leaving);
      leaving = window.setTimeout(() => setOver(false), 300); // no more of these events: it left, or was dropped
    };
    const drop = async (event: DragEvent) => {
      if (!isFiles(event) || event.defaultPrevented) return; // a field of the step took it
      event.preventDefault();
      await taken([...(event.dataTransfer?.files ?? [])], project, { write, say, refresh, go });
    };
    const dropped = (event: DragEvent) => void drop(event);
    window.addEventListener("dragover", drag);
    window.addEventListener("drop", dropped);
    return () => {
      window.clearTimeout(leaving);
      window.removeEventListener("dragover", drag);
      window.removeEventListener("drop", dropped);
    };
  }, [project, refresh, say, write, go]);
  return over;
}

function NoAnswer({ trouble, again }: { trouble: string; again: () => Promise<void> }) {
  return (
    <div className="message bad" role="alert">
      <b>No answer</b>
      <span>{trouble[0].toUpperCase() + trouble.slice(1)} The page continues as soon as the server answers.</span>
      <button type="button" onClick={() => void again()}>
        Try again
      </button>
    </div>
  );
}

const loaded = new Map<string, ComponentType>();
const RELOADED = "minertia-reloaded", OFTEN = 20_000; // ms within which a page is not loaded anew twice

/** A step, loaded when it is first opened, and again when that failed and the server is back. */
function StepPage({ step }: { step: Step }) {
  const { trouble, look } = useStudio();
  const [fails, setFails] = useState(0);
  const [, shown] = useState(0);
  const Page = loaded.get(step.path);
  useEffect(() => {
    if (loaded.has(step.path) || trouble) return;
    let wanted = true;
    const failed = () => {
      if (!wanted) return;
      setFails((count) => count + 1);
      void look();
    };
    const again = window.setTimeout(
      () =>
        step.load().then(({ default: found }) => {
          loaded.set(step.path, found);
          if (wanted) shown((count) => count + 1);
        }, failed),
      fails ? 500 : 0,
    );
    return () => {
      wanted = false;
      window.clearTimeout(again);
    };
  }, [step, trouble, look, fails]);

  useEffect(() => {
    // some browsers remember that a file did not come, and a studio of another version has other files
    const last = Number(window.sessionStorage.getItem(RELOADED) ?? 0);
    if (fails < 3 || trouble || Date.now() - last < OFTEN) return;
    window.sessionStorage.setItem(RELOADED, String(Date.now()));
    window.location.reload();
  }, [fails, trouble]);

  if (Page) return <Page />;
  if (!fails) return <p className="empty">…</p>;
  return (
    <div className="message warn" role="status">
      <b>{step.title} is not loaded</b>
      <span>its files did not come from the studio; this page tries again by itself</span>
      {!trouble && (
        <button type="button" onClick={() => window.location.reload()}>
          Load the page again
        </button>
      )}
    </div>
  );
}

/** A step that breaks gets a sentence, and is tried again when the server is back. */
class Shown extends Component<{ trouble: string | null; children: ReactNode }, { error: Error | null }> {
  state = { error: null as Error | null };
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  componentDidUpdate(before: { trouble: string | null }) {
    if (before.trouble && !this.props.trouble && this.state.error) this.setState({ error: null });
  }
  render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="message bad" role="alert">
        <b>This step cannot be shown</b>
        <span>{error.message}; this should not have happened, please report it</span>
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </div>
    );
  }
}
