import { putRobot, upload } from "../api";
import type { Studio } from "../studio";
import type { Project } from "../types";

export const MESHES = [".stl", ".obj", ".dae"];
const ROBOTS = [".urdf", ".xml", ".mjcf", ".par", ".toml"];
const ends = (endings: string[]) => (file: File) => endings.some((ending) => file.name.toLowerCase().endsWith(ending));

/** Send a robot's file with its meshes, and choose it. */
export async function receivedRobot(files: File[], project: Project, write: Studio["write"]): Promise<void> {
  const robot = files.find((file) => !ends(MESHES)(file));
  if (!robot) throw new Error("drop the robot's own file together with its meshes");
  const meshes: string[] = [];
  for (const file of files.filter(ends(MESHES))) meshes.push((await upload("mesh", file, project.largest)).key);
  const { key } = await upload("robot", robot, project.largest, meshes);
  await write((revision) => putRobot({ file: key }, revision));
}

/** Send files of any kind and open the step where they are, or say what was wrong. */
export async function taken(files: File[], project: Project, { write, say, refresh, go }: Pick<Studio, "write" | "say" | "refresh" | "go">): Promise<void> {
  try {
    const place = await received(files, project, write);
    say(null);
    await refresh();
    go(place);
  } catch (error) {
    say((error as Error).message);
    await refresh(); // some of them may have arrived
  }
}

async function received(files: File[], project: Project, write: Studio["write"]): Promise<string> {
  const robots = files.filter(ends([...ROBOTS, ...MESHES])), logs = files.filter((file) => !robots.includes(file));
  if (robots.length) await receivedRobot(robots, project, write);
  for (const file of logs) await upload("log", file, project.largest);
  return logs.length ? "/data" : "/robot";
}
