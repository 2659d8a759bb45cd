import type { Campaign, Job, Project, ProjectFile } from "./types";

/** A sentence of the server about what is wrong and what to do. */
export class Told extends Error {}

async function asked<T>(method: string, path: string, body?: unknown): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Told("the studio does not answer; is its command still running?");
  }
  const text = await answer.text();
  let data: unknown = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    throw new Told("the studio's answer was cut off; try again");
  }
  if (!answer.ok) throw new Told((data as { error?: string })?.error ?? `the studio answered ${answer.status}`);
  return data as T;
}

export const getProject = () => asked<Project>("GET", "/api/project");
export const putRobot = (robot: { bundled?: string; file?: string }) => asked("PUT", "/api/robot", robot);
export const putCampaign = (campaign: Campaign) => asked<{ check: string | null }>("PUT", "/api/campaign", campaign);
export const startJob = (kind: string, settings: object = {}) => asked<Job>("POST", "/api/jobs", { kind, settings });
export const cancelJob = (name: string) => asked<Job>("DELETE", `/api/jobs/${name}`);
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
