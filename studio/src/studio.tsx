import { createContext, useCallback, useContext, useEffect, useRef, useState } from "react";
import { getProject, getView } from "./api";
import type { Job, Project, RobotView } from "./types";

export interface Studio {
  project: Project;
  path: string[];
  go: (path: string) => void;
  refresh: () => Promise<void>;
  run: (kind: string, settings?: object) => Promise<Job | null>;
  say: (sentence: string | null) => void;
}

export const StudioContext = createContext<Studio | null>(null);

export function useStudio(): Studio {
  const studio = useContext(StudioContext);
  if (!studio) throw new Error("outside of the studio");
  return studio;
}

/** The folder as the server sees it, with jobs that run followed by their events. */
export function useProject(say: (sentence: string) => void): [Project | null, () => Promise<void>, (job: Job) => void] {
  const [project, setProject] = useState<Project | null>(null);
  const followed = useRef(new Map<string, EventSource>());

  const refresh = useCallback(async () => {
    try {
      setProject(await getProject());
    } catch (error) {
      say((error as Error).message);
    }
  }, [say]);

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
  return [project, refresh, put];
}

/** The address, as a list of its parts. */
export function usePath(): [string[], (path: string) => void] {
  const [path, setPath] = useState(window.location.pathname);
  useEffect(() => {
    const changed = () => setPath(window.location.pathname);
    window.addEventListener("popstate", changed);
    return () => window.removeEventListener("popstate", changed);
  }, []);
  const go = useCallback((to: string) => {
    if (to !== window.location.pathname) window.history.pushState(null, "", to);
    setPath(to);
    window.scrollTo(0, 0);
  }, []);
  return [path.split("/").filter(Boolean), go];
}

export function latest(project: Project, kind: string, state?: string): Job | undefined {
  return project.jobs.find((job) => job.kind === kind && (!state || job.state === state));
}

export function useView<T>(job: Job | undefined | string): T | null {
  const name = typeof job === "string" ? job : job?.state === "done" ? job.name : undefined;
  const [view, setView] = useState<{ name: string; view: T } | null>(null);
  useEffect(() => {
    let wanted = true;
    if (name) getView<T>(name).then((found) => wanted && setView({ name, view: found }), () => undefined);
    return () => {
      wanted = false;
    };
  }, [name]);
  return view && view.name === name ? view.view : null;
}

/** Runs of a kind: the latest, those that are done, and of them the one in the address, or the newest, with its view. */
export function useRuns<T>(kind: string) {
  const { project, path } = useStudio();
  const done = project.jobs.filter((one) => one.kind === kind && one.state === "done");
  const name = (done.find((one) => one.name === path[1]) ?? done[0])?.name;
  return { job: latest(project, kind), done, name, view: useView<T>(name) };
}

/** Models to choose from, "" for the robot's own file: identifications first, the newest before, then rehearsed ones. */
export function modelChoices(project: Project) {
  const models = project.files.filter((file) => file.kind === "model").reverse();
  const isFit = (title: string) => title.includes("-identify/");
  const ordered = [...models.filter((m) => isFit(m.title)), ...models.filter((m) => !isFit(m.title))];
  const names: Record<string, string> = { "": `${project.robot?.title}, as its file says`, ...Object.fromEntries(models.map((m) => [m.key, m.title])) };
  return { options: [...ordered.map((m) => m.key), ""], names, first: ordered[0]?.key ?? "" };
}

/** The view of the last job that is done stays while the next one runs. */
export function useLastView<T>(kind: string): [T | null, Job | undefined] {
  const { project } = useStudio();
  const job = latest(project, kind, "done");
  return [useView<T>(job), job];
}

/** The robot that is chosen, read and derived; reading it is begun where nobody has, or where it was broken off. */
export function useRobotView(): [RobotView | null, Job | undefined] {
  const { project, run } = useStudio();
  const version = project.robot?.version;
  const own = project.jobs.filter((job) => job.kind === "robot" && job.settings.robot === version);
  const last = own[0];
  const done = own.find((job) => job.state === "done");
  const isMissing = !!version && (!last || last.state === "interrupted" || last.state === "cancelled");
  useEffect(() => {
    if (isMissing) void run("robot", { rotors: true, friction: false });
  }, [isMissing, version, run]);
  return [useView<RobotView>(done), last];
}
