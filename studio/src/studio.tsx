import { createContext, useCallback, useContext, useEffect, useRef, useState } from "react";
import { getProject, getPulse, getView, Unreachable } from "./api";
import type { JobSettings } from "./options";
import type { Job, Project, RobotView } from "./types";

const EVERY = 2000, WITHOUT = 1000; // ms between two looks at the folder, and while nobody answers

export interface Studio {
  project: Project;
  trouble: string | null; // why the server cannot be asked
  look: () => Promise<void>;
  revision: () => string; // of the project as this page knows it
  /** Write something on a revision, which comes back as a new one; what others changed meanwhile refuses it. */
  write: (change: (revision: string) => Promise<{ revision: string }>, revision?: string) => Promise<string>;
  path: string[];
  go: (path: string) => void;
  refresh: () => Promise<void>;
  run: (kind: string, settings?: object) => Promise<Job | null>;
  /** Check the campaign unless that is done, identify, and show the result. */
  identify: () => Promise<void>;
  isChained: boolean; // whether that is under way
  say: (sentence: string | null) => void;
}

export const StudioContext = createContext<Studio | null>(null);

export function useStudio(): Studio {
  const studio = useContext(StudioContext);
  if (!studio) throw new Error("outside of the studio");
  return studio;
}

/** A row that is edited in place; `done` closes it once a request is answered, or says what was wrong. */
export function useEditing() {
  const { refresh, say } = useStudio();
  const [editing, setEditing] = useState(false);
  const done = async (what: Promise<unknown>) => {
    try {
      await what;
      setEditing(false);
    } catch (error) {
      say((error as Error).message);
    }
    await refresh();
  };
  return { editing, setEditing, done };
}

/** The folder as the server sees it, looked at again and again, with jobs that run followed by their events. */
export function useProject(say: (sentence: string) => void) {
  const [project, setProject] = useState<Project | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  const followed = useRef(new Map<string, EventSource>());
  const seen = useRef({ pulse: "", revision: "", writes: 0 });

  const failed = useCallback(
    (error: unknown) => {
      const sentence = (error as Error).message;
      if (error instanceof Unreachable) setTrouble(sentence);
      else say(sentence);
    },
    [say],
  );

  const refresh = useCallback(async (): Promise<void> => {
    const before = seen.current.writes;
    try {
      const found = await getProject();
      setTrouble(null);
      if (before !== seen.current.writes) return void (await refresh()); // asked before our own change was written
      seen.current = { ...seen.current, pulse: found.pulse, revision: found.revision };
      setProject(found);
    } catch (error) {
      failed(error);
    }
  }, [failed]);

  const look = useCallback(async () => {
    try {
      const { pulse } = await getPulse();
      setTrouble(null);
      if (pulse !== seen.current.pulse) await refresh();
    } catch (error) {
      failed(error);
    }
  }, [failed, refresh]);

  const write = useCallback(async (change: (revision: string) => Promise<{ revision: string }>, revision?: string) => {
    const { revision: now } = await change(revision ?? seen.current.revision);
    seen.current = { ...seen.current, revision: now, writes: seen.current.writes + 1 };
    return now;
  }, []);
  const revision = useCallback(() => seen.current.revision, []);

  const put = useCallback((job: Job) => {
    setProject((before) => {
      if (!before) return before;
      const others = before.jobs.filter((other) => other.name !== job.name);
      return { ...before, jobs: [job, ...others].sort((a, b) => (a.name < b.name ? 1 : -1)) };
    });
  }, []);

  useEffect(() => {
    void refresh();
  }, [refresh]);

  useEffect(() => {
    const timer = window.setInterval(() => document.visibilityState === "visible" && void look(), trouble ? WITHOUT : EVERY);
    const seenAgain = () => document.visibilityState === "visible" && void look();
    document.addEventListener("visibilitychange", seenAgain);
    return () => {
      window.clearInterval(timer);
      document.removeEventListener("visibilitychange", seenAgain);
    };
  }, [look, trouble]);

  useEffect(() => {
    for (const job of project?.jobs ?? []) {
      if (job.state !== "running" || followed.current.has(job.name)) continue;
      const source = new EventSource(`/api/jobs/${job.name}/events`);
      followed.current.set(job.name, source);
      const end = () => {
        source.close();
        followed.current.delete(job.name);
        void refresh();
      };
      source.onmessage = (event) => {
        const news = JSON.parse(event.data as string) as Job;
        put(news);
        if (news.state !== "running") end();
      };
      source.onerror = () => {
        if (source.readyState === EventSource.CLOSED) end();
      };
    }
  }, [project, put, refresh]);

  useEffect(() => {
    const all = followed.current;
    return () => all.forEach((source) => source.close());
  }, []);
  return { project, refresh, put, look, write, revision, trouble };
}

/** The address, as a list of its parts; gone: called after going elsewhere. */
export function usePath(gone: () => void): [string[], (path: string) => void] {
  const [path, setPath] = useState(window.location.pathname);
  useEffect(() => {
    const changed = () => setPath(window.location.pathname);
    window.addEventListener("popstate", changed);
    return () => window.removeEventListener("popstate", changed);
  }, []);
  const go = useCallback((to: string) => {
    if (to === window.location.pathname + window.location.search) return;
    window.history.pushState(null, "", to);
    gone();
    setPath(window.location.pathname);
    window.scrollTo(0, 0);
  }, [gone]);
  return [path.split("/").filter(Boolean), go];
}

export function latest(project: Project, kind: string, state?: string): Job | undefined {
  return project.jobs.find((job) => job.kind === kind && (!state || job.state === state));
}

/** The newest result of a kind that is of the project as it stands; where there is none, the newest of all. */
export function newest(project: Project, kind: string): Job | undefined {
  const done = project.jobs.filter((job) => job.kind === kind && job.state === "done");
  return done.find((job) => !job.stale.length) ?? done[0];
}

export function useView<T>(job: Job | undefined | string): T | null {
  const { trouble, look, say } = useStudio();
  const name = typeof job === "string" ? job : job?.state === "done" ? job.name : undefined;
  const [view, setView] = useState<{ name: string; view: T } | null>(null);
  useEffect(() => {
    let wanted = true;
    if (name && !trouble)
      getView<T>(name).then(
        (found) => wanted && setView({ name, view: found }),
        (error: Error) => wanted && (error instanceof Unreachable ? void look() : say(error.message)),
      );
    return () => {
      wanted = false;
    };
  }, [name, trouble, look, say]);
  return view && view.name === name ? view.view : null;
}

/** Runs of a kind: the latest, those that are done, and of them the one in the address, or the newest current one, with its view. */
export function useRuns<T>(kind: string) {
  const { project, path } = useStudio();
  const done = project.jobs.filter((one) => one.kind === kind && one.state === "done");
  const shown = done.find((one) => one.name === path[1]) ?? newest(project, kind);
  return { job: latest(project, kind), done, shown, name: shown?.name, view: useView<T>(shown?.name) };
}

/** Settings of a job to come: at first those of the latest job of its kind, so that a reload keeps them. */
export function useAsked<K extends keyof JobSettings>(kind: K): [JobSettings[K], (asked: JobSettings[K]) => void] {
  const { project } = useStudio();
  const [asked, setAsked] = useState<JobSettings[K] | null>(null);
  return [asked ?? ((latest(project, kind)?.settings ?? {}) as JobSettings[K]), setAsked];
}

/** Models to choose from, "" for the robot's own file: identifications first, the newest before, then rehearsed ones.
 *
 * The first is of this robot; what is another's, or was made before something changed, says so.
 */
export function modelChoices(project: Project, robot: string | undefined) {
  const models = project.files.filter((file) => file.kind === "model").reverse();
  const run = (title: string) => project.jobs.find((job) => title.startsWith(`runs/${job.name}/`));
  const why = (model: { title: string; robot?: string }) => run(model.title)?.stale[0] ?? (model.robot && robot && model.robot !== robot ? `of the robot ${model.robot}` : undefined);
  const isFit = (title: string) => title.includes("-identify/");
  const ordered = [...models.filter((m) => isFit(m.title)), ...models.filter((m) => !isFit(m.title))];
  const [own, others] = [ordered.filter((m) => !why(m)), ordered.filter((m) => why(m))];
  const ownName = (title: string) => run(title)?.title || run(title)?.name || title;
  const named = ordered.map((m) => [m.key, why(m) ? `model of ${ownName(m.title)}, ${why(m)}` : `model of ${ownName(m.title)}`]);
  const names: Record<string, string> = { "": `${project.robot?.title}, as its file says`, ...Object.fromEntries(named) };
  return { options: [...own.map((m) => m.key), "", ...others.map((m) => m.key)], names, first: own[0]?.key ?? "" };
}

/** The view of the last job that is done stays while the next one runs. */
export function useLastView<T>(kind: string): [T | null, Job | undefined] {
  const { project } = useStudio();
  const job = newest(project, kind);
  return [useView<T>(job), job];
}

/** The robot that is chosen, read and derived; reading it is begun where nobody has, or where it was broken off. */
export function useRobotView(): [RobotView | null, Job | undefined] {
  const { project, run } = useStudio();
  const version = project.robot?.version;
  const own = project.jobs.filter((job) => job.kind === "robot" && job.settings.robot === version);
  const last = own[0];
  const done = own.find((job) => job.state === "done" && !job.stale.length);
  const isOver = !last || last.state === "interrupted" || last.state === "cancelled" || last.state === "done";
  const isMissing = !!version && !done && isOver;
  useEffect(() => {
    if (isMissing) void run("robot", { rotors: true, friction: false });
  }, [isMissing, version, run]);
  return [useView<RobotView>(done), last];
}
