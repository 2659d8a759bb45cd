import { useEffect, useState } from "react";
import { getJob, getRecent, getRobots, openRecent, putRobot, type RecentProject } from "../api";
import { useCampaign } from "../campaign";
import { DropZone, JobLine, Panel } from "../parts/bits";
import { taken } from "../parts/files";
import { latest, useStudio } from "../studio";
import type { BundledRobot } from "../types";

const SAMPLE = "puma560_physical";
const OFTEN = 500; // ms between two looks at a job of the sample

export default function StartStep() {
  const { project, go, refresh, say, write, run, identify } = useStudio();
  const { take } = useCampaign();
  const [robots, setRobots] = useState<BundledRobot[]>([]);
  const [sampling, setSampling] = useState(false);
  useEffect(() => {
    getRobots().then(({ robots: found }) => setRobots(found), (error: Error) => say(error.message));
  }, [say]);

  const choose = async (name: string) => {
    try {
      await write((revision) => putRobot({ bundled: name }, revision));
      say(null);
    } catch (error) {
      say((error as Error).message);
    }
    await refresh();
  };
  const drop = (files: File[]) => taken(files, project, { write, say, refresh, go });
  /** Run a job to its end; the name of one that is done. */
  const ended = async (kind: string) => {
    let job = await run(kind);
    while (job?.state === "running") {
      await new Promise((done) => window.setTimeout(done, OFTEN));
      job = await getJob(job.name);
    }
    await refresh();
    return job?.state === "done" ? job.name : null;
  };
  const sample = async () => {
    setSampling(true);
    await choose(SAMPLE);
    if (await ended("rehearse")) {
      const proposal = await ended("propose");
      if (proposal) {
        await take(proposal);
        go("/data");
        await identify();
      }
    }
    setSampling(false);
  };
  const isEmpty = !project.campaign && !project.files.some((file) => file.kind === "log");
  return (
    <div className="stack">
      <div className="split even">
        <Panel title={project.robot ? `Go on with ${project.robot.title}` : "Your robot and its logs"}>
          <p className="soft">Drop a robot file and logs anywhere on this page. The folder is {project.folder}.</p>
          <DropZone label="Open files" hint="URDF, MJCF, SYMORO .par, TOML; logs" accept="" multiple onFiles={(files) => void drop(files)} />
          {project.robot && (
            <div className="actions">
              <button type="button" className="main" onClick={() => go("/data")}>
                Go to the data
              </button>
              <button type="button" onClick={() => go("/robot")}>
                Show the robot
              </button>
            </div>
          )}
        </Panel>
        <Panel title="Sample project">
          <p className="soft">A simulated PUMA 560 moves, is recorded, identified and judged: about a minute, without a robot.</p>
          <button type="button" disabled={!isEmpty || sampling} onClick={() => void sample()}>
            Run the sample
          </button>
          {!isEmpty && !sampling && <span className="soft"> only in an empty folder, so that nothing of yours is changed</span>}
          <div style={{ marginTop: ".7rem" }}>
            <JobLine job={sampling ? latest(project, "rehearse") : undefined} what="Simulated recording" />
          </div>
        </Panel>
      </div>
      <Recent />
      <Panel title="Bundled robots">
        <ul className="gallery">
          {robots.map((robot) => (
            <li key={robot.name}>
              <button type="button" aria-pressed={project.robot?.bundled === robot.name} onClick={() => void choose(robot.name).then(() => go("/robot"))}>
                <Picture strokes={robot.strokes} />
                <b>{robot.title}</b>
                <small className="soft">
                  {robot.joints === 1 ? "1 joint" : `${robot.joints} joints`}
                  {robot.has_masses ? ", with masses" : ""}
                </small>
              </button>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

/** Other projects that were open last; each opens in a studio of its own. */
function Recent() {
  const { say } = useStudio();
  const [projects, setProjects] = useState<RecentProject[]>([]);
  const [opening, setOpening] = useState<string | null>(null);
  useEffect(() => {
    getRecent().then(({ projects: found }) => setProjects(found), (error: Error) => say(error.message));
  }, [say]);
  const open = async (key: string) => {
    setOpening(key);
    try {
      window.location.assign((await openRecent(key)).address);
    } catch (error) {
      say((error as Error).message);
    }
    setOpening(null);
  };
  if (!projects.length) return null;
  return (
    <Panel title="Recent projects">
      <ul className="recent">
        {projects.map(({ key, name, folder, robot, runs }) => (
          <li key={key}>
            <button type="button" disabled={opening !== null} onClick={() => void open(key)}>
              <b>{name}</b>
              <small className="soft">
                {robot ?? "no robot yet"}, {runs === 1 ? "1 run" : `${runs} runs`}
              </small>
              <small className="soft">{opening === key ? "opening …" : folder}</small>
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** A robot as strokes, with what is nearer over what is farther. */
function Picture({ strokes }: { strokes: number[][] }) {
  const x = strokes.flatMap(([a, , b, , w]) => [a - w / 2, b - w / 2, a + w / 2, b + w / 2]);
  const y = strokes.flatMap(([, a, , b, w]) => [a - w / 2, b - w / 2, a + w / 2, b + w / 2]);
  const [left, right, low, high] = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)];
  const size = Math.max(right - left, high - low, 1e-3), margin = 0.06 * size;
  return (
    <svg viewBox={`${(left + right - size) / 2 - margin} ${-(low + high + size) / 2 - margin} ${size + 2 * margin} ${size + 2 * margin}`} aria-hidden="true">
      {strokes.map(([x1, y1, x2, y2, width], k) => (
        <g key={k}>
          <line x1={x1} y1={-y1} x2={x2 + 1e-6} y2={-y2} strokeWidth={Math.max(width, 0.03 * size) + 0.02 * size} className="edge" />
          <line x1={x1} y1={-y1} x2={x2 + 1e-6} y2={-y2} strokeWidth={Math.max(width, 0.03 * size)} />
        </g>
      ))}
    </svg>
  );
}
