import type { BundledRobot, Changes, Job, Project, ProjectFile } from "./types";

/** A sentence of the server about what is wrong and what to do. */
export class Told extends Error {}

/** Nobody answers: the server is stopped, or cannot be reached. */
export class Unreachable extends Told {}

/** Somebody else has changed what is to be changed; revision: of the project as it is now. */
export class Outdated extends Told {
  constructor(
    message: string,
    readonly revision: string,
  ) {
    super(message);
  }
}

async function asked<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Unreachable("the studio does not answer; is its command still running?");
  }
  const text = await answer.text();
  let data: unknown = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    throw new Told("the studio's answer was cut off; try again");
  }
  if (answer.ok) return data as T;
  const { error, revision } = (data ?? {}) as { error?: string; revision?: string };
  const sentence = error ?? `the studio answered ${answer.status}`;
  if (revision) throw new Outdated(sentence, revision);
  // a studio that was started anew does not know this page, and has printed another address
  throw answer.status === 401 ? new Unreachable(sentence) : new Told(sentence);
}

export const getProject = () => asked<Project>("GET", "/api/project");
export interface RecentProject { key: string; name: string; folder: string; robot: string | null; runs: number }
export const getRecent = () => asked<{ projects: RecentProject[] }>("GET", "/api/recent");
/** The address of the studio on a recent project, which is started unless it runs. */
export const openRecent = (key: string) => asked<{ address: string }>("POST", `/api/recent/${key}`);
export const getPulse = () => asked<{ pulse: string }>("GET", "/api/pulse");
export const putRobot = (robot: { bundled?: string; file?: string }, revision: string) =>
  asked<{ revision: string }>("PUT", "/api/robot", { ...robot, revision });
/** Change values of campaign.toml: null takes one away, and what is not named stays. */
export const putCampaign = (changes: Changes, revision: string) => asked<{ revision: string }>("PUT", "/api/campaign", { ...changes, revision });
/** Take what a job proposed, or the campaign of an earlier identification. */
export const takeCampaign = (job: string, revision: string) => asked<{ revision: string }>("POST", "/api/campaign/of", { job, revision });
export const startJob = (kind: string, settings: object = {}) => asked<Job>("POST", "/api/jobs", { kind, settings });
export const cancelJob = (name: string) => asked<Job>("DELETE", `/api/jobs/${name}`);
/** Delete a run that has ended, with its files. */
export const deleteRun = (name: string) => asked<Job>("DELETE", `/api/jobs/${name}?files=true`).finally(() => views.delete(name));
export const labelRun = (name: string, title: string, tags: string[]) => asked<Job>("PUT", `/api/jobs/${name}/label`, { title, tags });
export const labelFile = (key: string, title: string, tags: string[]) => asked<ProjectFile>("PUT", `/api/files/${key}/label`, { title, tags });
/** Delete an uploaded log, or hide another one. */
export const removeFile = (key: string) => asked<{ revision: string }>("DELETE", `/api/files/${key}`);
export const showHidden = () => asked<{ revision: string }>("POST", "/api/files/hidden");
export const getJob = (name: string) => asked<Job>("GET", `/api/jobs/${name}`);
export const getRobots = () => asked<{ robots: BundledRobot[] }>("GET", "/api/robots");
export const framesAt = (q: number[]) =>
  asked<{ frames: { R: number[][]; p: number[] }[] }>("POST", "/api/robot/frames", { q });
export const listFiles = (name: string) =>
  asked<{ files: { number: number; name: string; bytes: number }[] }>("GET", `/api/jobs/${name}/files`);

export const getCurves = (name: string, log: number, signal: string, start: number, end: number, filtered: boolean) =>
  asked<{ t: number[]; values: (number | null)[][] }>("GET", `/api/jobs/${name}/curves/${log}?${new URLSearchParams({ signal, start: String(start), end: String(end), filtered: String(filtered) })}`);

const views = new Map<string, Promise<unknown>>();

/** What a job that is done shows; asked for once. */
export function getView<T>(name: string): Promise<T> {
  if (!views.has(name)) {
    const view = asked("GET", `/api/jobs/${name}/view`);
    view.catch(() => views.delete(name));
    views.set(name, view);
  }
  return views.get(name) as Promise<T>;
}

export async function upload(kind: "robot" | "log" | "mesh", file: File, largest: number, meshes: string[] = []): Promise<ProjectFile> {
  if (file.size > largest)
    throw new Told(`${file.name} is too large to be sent (${(file.size / 1e6).toFixed(0)} MB, at most ${largest / 1e6}); copy it into the folder instead`);
  const query = new URLSearchParams([["kind", kind], ["title", file.name], ...meshes.map((key) => ["mesh", key])]);
  let answer: Response;
  try {
    answer = await fetch(`/api/uploads?${query}`, { method: "POST", body: file });
  } catch {
    throw new Told(`${file.name} could not be sent; is it too large, or the studio gone?`);
  }
  const data = (await answer.json().catch(() => ({}))) as ProjectFile & { error?: string };
  if (!answer.ok) throw new Told(data.error ?? `${file.name} was refused`);
  return data;
}
