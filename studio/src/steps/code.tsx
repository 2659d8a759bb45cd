import { useEffect, useState } from "react";
import { listFiles } from "../api";
import { type GenerateSettings, JOBS, TARGETS } from "../options";
import { Archive, bytes, Empty, JobLine, Panel, Scroll, SelectField, shown, Stale, units } from "../parts/bits";
import { Live } from "../parts/live";
import { JobFields } from "../parts/options";
import { latest, modelChoices, newest, useAsked, useRobotView, useStudio, useView } from "../studio";
import type { CodeView, Job } from "../types";

export default function CodeStep() {
  const { project, run } = useStudio();
  const job = latest(project, "generate");
  const done = newest(project, "generate");
  const [robot] = useRobotView();
  const view = useView<CodeView>(done);
  const [model, setModel] = useState<string | null>(null);
  const [asked, setAsked] = useAsked("generate");
  if (!project.robot) return <Empty>Choose a robot first.</Empty>;
  const { options, names, first } = modelChoices(project, robot?.robot.robot);
  const chosen = model ?? first;
  const target = TARGETS[asked.target ?? JOBS.generate.target.default];
  const programs = asked.programs ?? [...target.programs];
  return (
    <div className="split form">
      <div className="pane">
        <Panel title="What is generated">
          <div className="stack">
            <SelectField label="model" value={chosen} options={options} names={names} onChange={setModel} />
          </div>
          <JobFields job="generate" asked={{ ...asked, programs: target.others ? (programs as GenerateSettings["programs"]) : null }} onChange={setAsked} />
          <div className="actions">
            <button type="button" className="main" disabled={job?.state === "running" || !programs.length} onClick={() => void run("generate", { ...asked, model: chosen || null, programs: target.others ? asked.programs : null })}>
              Generate
            </button>
          </div>
        </Panel>
      </div>
      <div className="pane">
        <JobLine job={job} what="Generation" />
        {view && done ? <Made key={done.name} view={view} job={done} /> : job?.state !== "running" && <Empty>No code yet. It is written without allocation, with operation counts and a self-test.</Empty>}
      </div>
    </div>
  );
}

function Made({ view, job }: { view: CodeView; job: Job }) {
  const { name } = job;
  const { trouble } = useStudio();
  const [files, setFiles] = useState<{ number: number; name: string; bytes: number }[]>([]);
  const [open, setOpen] = useState<{ name: string; text: string } | null>(null);
  useEffect(() => {
    listFiles(name).then(({ files: found }) => setFiles(found.filter((file) => file.name.startsWith("code/"))), () => setFiles([]));
  }, [name, trouble]);
  const look = async (file: { number: number; name: string }) => {
    const answer = await fetch(`/api/jobs/${name}/files/${file.number}`).catch(() => null);
    const text = answer?.ok ? await answer.text() : "this file cannot be shown now; is the studio still running?";
    setOpen({ name: file.name, text: text.length > 200_000 ? `${text.slice(0, 200_000)}\n...` : text });
  };
  const passed = job.grade === "good";
  return (
    <div className={job.stale.length ? "stack old" : "stack"}>
      <Stale job={job} />
      <Panel
        title={`${view.robot}: ${TARGETS[view.target as keyof typeof TARGETS]?.title ?? view.target}`}
        tools={
          <Archive job={job} label="Download zip" />
        }
      >
        <div className={`message ${passed ? "good" : "warn"}`}>
          <b>{passed ? "Tested" : "Not tested here"}</b>
          <span>{view.tested}</span>
        </div>
        <Scroll label="Operations">
          <table>
            <thead>
              <tr>
                <th scope="col">program</th>
                {["multiplications", "additions", "trigonometric", "lines"].map((key) => (
                  <th scope="col" key={key} className="number">
                    {key === "trigonometric" ? "sin, cos" : key}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {Object.entries(view.counts).map(([program, count]) => (
                <tr key={program}>
                  <th scope="row">{program}</th>
                  {["multiplications", "additions", "trigonometric", "lines"].map((key) => (
                    <td key={key} className="number">
                      {count[key]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        <p className="soft">
          Effects in the code:{" "}
          {Object.entries(view.effects)
            .map(([effect, value]) => `${effect} = ${shown(value, 3)} ${units(view.units?.[effect] ?? "")}`.trim())
            .join(", ") || "none"}
        </p>
        {view.notes.map((note) => (
          <p key={note} className="soft">
            {note}
          </p>
        ))}
      </Panel>
      {view.live && (
        <Panel title="The generated model in this page">
          <p className="soft">The generated inverse dynamics itself, compiled to WebAssembly, running in this page.</p>
          {"why" in view.live ? (
            <div className="message warn">
              <b>Not live</b>
              <span>{view.live.why}</span>
            </div>
          ) : (
            <Live name={name} model={view.live} />
          )}
        </Panel>
      )}
      <Panel title="Files">
        <ul className="files">
          {files.map((file) => (
            <li key={file.number}>
              <button type="button" aria-pressed={open?.name === file.name} onClick={() => void look(file)}>
                <span>{file.name.replace(/^code\//, "")}</span>
                <span className="soft">{bytes(file.bytes)}</span>
              </button>
            </li>
          ))}
        </ul>
        {open && (
          <pre tabIndex={0} aria-label={open.name}>
            {open.text}
          </pre>
        )}
      </Panel>
    </div>
  );
}
