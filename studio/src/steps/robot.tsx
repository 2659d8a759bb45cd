import { Fragment, type KeyboardEvent, memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { putRobot } from "../api";
import { CheckField, DropZone, Empty, Facts, JobLine, Panel, Scroll, shown, units } from "../parts/bits";
import { MESHES, receivedRobot } from "../parts/files";
import { useLook } from "../parts/look";
import { ParameterName, Relation } from "../parts/names";
import { ClassGrid, Sliders } from "../parts/robot";
import { Stage } from "../parts/stage";
import { LONG, Rows } from "../parts/window";
import { useRobotView, useStudio } from "../studio";
import type { BaseView, NoteData, RobotView } from "../types";

const MARKS = ["frames", "centres-of-mass", "capsules"]; // drawn on the robot
const ENDINGS = [".urdf,.xml,.mjcf,.par,.toml", ...MESHES].join();

export default function RobotStep() {
  const { project } = useStudio();
  const [view, last] = useRobotView();
  const settings = (last?.settings ?? {}) as { rotors?: boolean; friction?: boolean };
  return (
    <>
      <Choose />
      <JobLine job={last} what="Reading the robot" />
      {!project.robot && <Empty>Choose one of the bundled robots, or drop a URDF, MJCF, SYMORO or TOML file.</Empty>}
      {view && <Known view={view} rotors={!!settings.rotors} friction={!!settings.friction} />}
    </>
  );
}

function Choose() {
  const { project, refresh, say, write } = useStudio();
  const own = project.files.filter((file) => file.kind === "robot" || file.kind === "model");
  const value = project.robot?.bundled ? `b:${project.robot.bundled}` : project.robot?.file ? `f:${project.robot.file}` : "";

  const choose = useCallback(
    async (choice: { bundled?: string; file?: string }) => {
      try {
        await write((revision) => putRobot(choice, revision));
        say(null);
      } catch (error) {
        say((error as Error).message);
      }
      await refresh();
    },
    [refresh, say, write],
  );

  const drop = async (files: File[]) => {
    try {
      await receivedRobot(files, project, write);
      say(null);
    } catch (error) {
      say((error as Error).message);
    }
    await refresh();
  };

  return (
    <div className="bar">
      <label className="field">
        <span>Robot</span>
        <select
          value={value}
          onChange={(e) => {
            const [kind, name] = [e.target.value.slice(0, 1), e.target.value.slice(2)];
            void choose(kind === "b" ? { bundled: name } : { file: name });
          }}
        >
          <option value="" disabled>
            choose
          </option>
          {own.length > 0 && (
            <optgroup label="In the folder">
              {own.map((file) => (
                <option key={file.key} value={`f:${file.key}`}>
                  {file.title}
                </option>
              ))}
            </optgroup>
          )}
          <optgroup label="Bundled">
            {project.bundled.map((name) => (
              <option key={name} value={`b:${name}`}>
                {name}
              </option>
            ))}
          </optgroup>
        </select>
      </label>
      <DropZone label="Open a file" hint="or drop it here, with its meshes: URDF, MJCF, SYMORO .par, TOML; STL, OBJ, COLLADA" accept={ENDINGS} multiple onFiles={drop} />
    </div>
  );
}

function Known({ view, rotors, friction }: { view: RobotView; rotors: boolean; friction: boolean }) {
  const { run } = useStudio();
  const { robot, drawing, notes, base } = view;
  const [q, setQ] = usePosture(drawing.start);
  const [lit, setLit] = useState<Set<number>>(new Set());
  const [pointed, setPointed] = useState<number | null>(null);
  const [marks, setMarks] = useLook("marks", "frames");
  const shows = (mark: string) => marks.split(" ").includes(mark);
  const mark = (name: string) => <CheckField label={name.replaceAll("-", " ")} value={shows(name)} onChange={(on) => setMarks(MARKS.filter((own) => (own === name ? on : shows(own))).join(" "))} />;

  const all = useMemo(() => (pointed === null ? lit : new Set([...lit, pointed])), [lit, pointed]);
  const light = useCallback((links: number[] | null) => setLit(new Set((links ?? []).map((link) => link - 1))), []);
  const link = pointed === null ? null : robot.joints[pointed];
  const again = (changes: object) => run("robot", { rotors, friction, ...changes });

  return (
    <div className="split">
      <div className="pane sticky">
        <Panel>
          <Stage
            robot={robot}
            drawing={drawing}
            q={q}
            lit={all}
            showFrames={shows("frames")}
            showMasses={shows("centres-of-mass")}
            showCapsules={shows("capsules")}
            onLink={setPointed}
            label={`${robot.robot} in three dimensions; drag to turn`}
            words={link ? `${link.number} · ${link.link ?? link.name}` : "drag to turn, scroll to zoom"}
          >
            {MARKS.map((name) => (
              <Fragment key={name}>{mark(name)}</Fragment>
            ))}
            <button type="button" className="plain" onClick={() => setQ(null)}>
              Reset posture
            </button>
          </Stage>
          <Sliders joints={robot.joints} names={robot.coordinates} q={q} onChange={setQ} onPoint={setPointed} />
        </Panel>
      </div>
      <div className="pane">
        <Panel title={robot.robot}>
          <Facts
            pairs={[
              ["joints", robot.joints.length],
              ["base", robot.base],
              ["moving mass", robot.moving_mass === null ? "not given" : `${shown(robot.moving_mass)} kg`],
              ["base parameters", base.error ? "–" : base.count],
              ["gravity", `(${robot.gravity.map((g) => shown(g, 3)).join(", ")}) m/s²`],
              ...(robot.loops.length ? [["loops", forms(robot.loops.map((l) => l.form))] as [string, string]] : []),
            ]}
          />
          {!!view.unread?.length && (
            <div className="message warn">
              <b>Not drawn</b>
              <span>
                shapes of {view.unread.join(", ")}: their meshes are not in the folder, or neither STL nor OBJ nor COLLADA; drop them together with the file
              </span>
            </div>
          )}
          <Notes notes={notes} onPoint={setPointed} />
        </Panel>
        {base.error ? (
          <Panel title="Base parameters">
            <div className="message bad">
              <b>Not derived</b>
              <span>{base.error}</span>
            </div>
          </Panel>
        ) : (
          <>
            <Panel title="What can be seen of each parameter">
              <ClassGrid base={base} joints={robot.joints} onPoint={setPointed} />
            </Panel>
            <Panel
              title={`${base.count} base parameters`}
              tools={
                <>
                  <CheckField label="rotor inertias" value={rotors} onChange={(value) => void again({ rotors: value })} />
                  <CheckField label="friction" value={friction} onChange={(value) => void again({ friction: value })} />
                </>
              }
            >
              <p className="soft">The smallest set that determines every joint effort. Point at one to light up the links in it.</p>
              <Parameters base={base} onPoint={light} pointed={pointed} />
            </Panel>
            <Panel title="Certificate">
              <ul className="sentences">
                {base.certificate.map((sentence) => {
                  const [head, ...rest] = sentence.split(": ");
                  return (
                    <li key={sentence}>
                      <b>{head}.</b> {rest.join(": ")}
                    </li>
                  );
                })}
              </ul>
            </Panel>
          </>
        )}
      </div>
    </div>
  );
}

/** The posture that is shown, in the address unless it is the first one; null sets that one again. */
function usePosture(start: number[]): [number[], (q: number[] | null) => void] {
  const [written, setWritten] = useLook("posture", "");
  const q = useMemo(() => {
    const found = written.split(" ").map(Number);
    return written && found.length === start.length && found.every(Number.isFinite) ? found : start;
  }, [written, start]);
  const set = useCallback((to: number[] | null) => setWritten(to?.map((value) => String(Number(value.toFixed(4)))).join(" ") ?? ""), [setWritten]);
  const own = start.join(" "), first = useRef(own);
  useEffect(() => {
    if (first.current !== own) set(null); // of another robot
    first.current = own;
  }, [own, set]);
  return [q, set];
}

/** "2 four-bar, 1 general". */
function forms(all: string[]): string {
  return [...new Set(all)].map((form) => `${all.filter((one) => one === form).length} ${form}`).join(", ");
}

function Notes({ notes, onPoint }: { notes: NoteData[]; onPoint: (joint: number | null) => void }) {
  const problems = notes.filter((note) => note.level !== "info");
  const others = notes.filter((note) => note.level === "info");
  const list = (items: NoteData[]) => (
    <ul className="notes">
      {items.map((note, k) => (
        <li
          key={k}
          className={note.level}
          onPointerEnter={() => onPoint(note.joint)}
          onPointerLeave={() => onPoint(null)}
        >
          <b>{note.where}</b>
          {note.line !== null && <span className="soft"> line {note.line}</span>} {note.text}
        </li>
      ))}
    </ul>
  );
  return (
    <>
      {problems.length === 0 && <p className="good-words">Nothing in the file is wrong or odd.</p>}
      {problems.length > 0 && list(problems)}
      {others.length > 0 && (
        <details>
          <summary>{others.length === 1 ? "1 remark" : `${others.length} remarks`} of the reader</summary>
          {list(others)}
        </details>
      )}
    </>
  );
}

const Parameters = memo(function Parameters({ base, onPoint, pointed }: { base: BaseView; onPoint: (links: number[] | null) => void; pointed: number | null }) {
  const hasNominal = base.parameters.some((p) => p.nominal !== null);
  const [current, setCurrent] = useState(0); // the row that the Tab key comes to; arrows go to others
  const move = (event: KeyboardEvent<HTMLTableElement>) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const row = event.currentTarget.querySelector<HTMLElement>(`[data-row="${current + step}"]`);
    if (!step || !row) return;
    event.preventDefault();
    row.focus();
  };
  return (
    <Scroll label="Base parameters" tall={base.parameters.length > LONG} isStop={false}>
      <table className="parameters" onKeyDown={move}>
        <thead>
          <tr>
            <th scope="col">parameter</th>
            <th scope="col">relation</th>
            {hasNominal && (
              <th scope="col" className="number">
                nominal
              </th>
            )}
            <th scope="col">unit</th>
          </tr>
        </thead>
        <Rows rows={base.parameters.map((p, k) => ({ p, k }))} columns={4} height={34}>
          {({ p, k }) => (
            <tr
              key={p.name}
              data-row={k}
              tabIndex={k === current ? 0 : -1}
              className={pointed !== null && p.links.includes(pointed + 1) ? "touched" : undefined}
              onPointerEnter={() => onPoint(p.links)}
              onPointerLeave={() => onPoint(null)}
              onFocus={() => {
                setCurrent(k);
                onPoint(p.links);
              }}
              onBlur={() => onPoint(null)}
            >
              <th scope="row">
                <ParameterName name={p.name} />
              </th>
              <td className="relation">
                {p.text === p.name ? <span className="soft">alone</span> : <Relation text={p.text} />}
                {p.is_numeric && <span className="flag">numeric</span>}
              </td>
              {hasNominal && <td className="number">{shown(p.nominal)}</td>}
              <td className="unit">{units(p.unit)}</td>
            </tr>
          )}
        </Rows>
      </table>
    </Scroll>
  );
});
