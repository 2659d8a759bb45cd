import { useEffect, useRef, useState } from "react";
import { CheckField, Empty, Facts, JobLine, NumberField, Panel, percent, Scroll, SelectField, shown } from "../parts/bits";
import { ParameterName } from "../parts/math";
import { Plot } from "../parts/plot";
import { Scene } from "../parts/scene";
import { latest, useStudio, useView } from "../studio";
import type { MotionView } from "../types";

const CRITERIA = ["condition", "scaled-condition", "logdet", "deviation"];
const CRITERION_NAMES = { condition: "condition number", "scaled-condition": "condition number, columns scaled", logdet: "log det (D-optimal)", deviation: "largest predicted deviation" };
const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

interface Asked {
  duration: number | null;
  harmonics: number | null;
  criterion: string;
  starts: number | null;
  velocity: number | null;
  acceleration: number | null;
  floor: string;
  height: number | null;
  collision: boolean;
}

export default function ExciteStep() {
  const { project, run, path, go } = useStudio();
  const job = latest(project, "excite");
  const rehearsal = latest(project, "rehearse");
  const runs = project.jobs.filter((one) => one.kind === "excite" && one.state === "done");
  const name = runs.find((one) => one.name === path[1])?.name ?? runs[0]?.name;
  const view = useView<MotionView>(name);
  const [asked, setAsked] = useState<Asked>({ duration: 10, harmonics: 5, criterion: "condition", starts: 1, velocity: null, acceleration: null, floor: "base", height: 0, collision: true });
  const set = (changes: Partial<Asked>) => setAsked({ ...asked, ...changes });
  if (!project.robot) return <Empty>Choose a robot first.</Empty>;

  const start = () => {
    const floor = asked.floor === "none" ? false : asked.floor === "height" ? (asked.height ?? 0) : undefined;
    void run("excite", {
      duration: asked.duration ?? 10,
      harmonics: asked.harmonics ?? 5,
      criterion: asked.criterion,
      starts: asked.starts ?? 1,
      limits: { velocity: asked.velocity, acceleration: asked.acceleration, floor, self_collision: asked.collision },
    });
    if (path[1]) go("/excite");
  };

  return (
    <div className="split form">
      <div className="pane">
        <Panel title="What is asked">
          <div className="fields">
            <NumberField label="duration" unit="s" min={0.5} value={asked.duration} onChange={(duration) => set({ duration })} />
            <NumberField label="harmonics" step={1} min={1} value={asked.harmonics} onChange={(harmonics) => set({ harmonics })} />
            <NumberField label="searches" step={1} min={1} value={asked.starts} onChange={(starts) => set({ starts })} />
            <SelectField label="good is" value={asked.criterion} options={CRITERIA} names={CRITERION_NAMES} onChange={(criterion) => set({ criterion })} />
          </div>
          <h3>Limits</h3>
          <p className="soft">Positions and what is not stated here: from the robot's file.</p>
          <div className="fields">
            <NumberField label="velocity" unit="rad/s, m/s" min={0} placeholder="of the file" value={asked.velocity} onChange={(velocity) => set({ velocity })} />
            <NumberField label="acceleration" unit="rad/s², m/s²" min={0} placeholder="of the file" value={asked.acceleration} onChange={(acceleration) => set({ acceleration })} />
            <SelectField label="stay above" value={asked.floor} options={["base", "height", "none"]} names={{ base: "the base plane", height: "a table", none: "nothing" }} onChange={(floor) => set({ floor })} />
            {asked.floor === "height" && <NumberField label="its height" unit="m" value={asked.height} onChange={(height) => set({ height })} />}
          </div>
          <p>
            <CheckField label="keep links apart" value={asked.collision} onChange={(collision) => set({ collision })} />
          </p>
          <div className="actions">
            <button type="button" className="main" disabled={job?.state === "running"} onClick={start}>
              Find a motion
            </button>
          </div>
        </Panel>
        <Panel title="No robot at hand?">
          <p className="soft">Record two logs of this robot in simulation (MuJoCo), with noise and encoder steps, and go on with them in Data.</p>
          <button type="button" disabled={rehearsal?.state === "running"} onClick={() => void run("rehearse", {})}>
            Rehearse
          </button>
          <div style={{ marginTop: ".7rem" }}>
            <JobLine job={rehearsal} what="Rehearsal" />
            {rehearsal?.state === "done" && (
              <p>
                {rehearsal.sentence}.{" "}
                <a href={`/api/jobs/${rehearsal.name}/pages/rehearsal`} target="_blank" rel="noreferrer">
                  Its page
                </a>
              </p>
            )}
          </div>
        </Panel>
      </div>
      <div className="pane">
        <JobLine job={job} what="Search for a motion" />
        {view && name ? <Motion key={name} view={view} name={name} /> : job?.state !== "running" && <Empty>No motion yet. A search takes from some seconds to a few minutes.</Empty>}
      </div>
    </div>
  );
}

function Motion({ view, name }: { view: MotionView; name: string }) {
  const { result } = view;
  const [capsules, setCapsules] = useState(true);
  const [frame, setFrame] = useState(0);
  const [playing, setPlaying] = useState(false);
  const [quantity, setQuantity] = useState("q");
  const clock = useRef(0);
  const { t, q } = view.postures;

  useEffect(() => {
    if (!playing) return;
    const begun = performance.now() - 1000 * (t[frame] >= t[t.length - 1] ? 0 : t[frame]);
    const step = (now: number) => {
      const time = (now - begun) / 1000;
      const k = Math.min(t.length - 1, Math.floor((time / t[t.length - 1]) * (t.length - 1)));
      setFrame(k);
      if (k >= t.length - 1) setPlaying(false);
      else clock.current = requestAnimationFrame(step);
    };
    clock.current = requestAnimationFrame(step);
    return () => cancelAnimationFrame(clock.current);
    // the frame is where it begins, not what it follows
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [playing]);

  const units: Record<string, [string, string]> = { q: ["positions", "rad or m"], qd: ["velocities", "rad/s or m/s"], qdd: ["accelerations", "rad/s² or m/s²"] };
  const margins = result.margins as Record<string, number[] | null>;
  const used = (["position", "velocity", "acceleration", "effort"] as const).filter((key) => Array.isArray(margins[key]));
  return (
    <div className="stack">
      <Panel
        title={view.headline}
        tools={
          <>
            <a className="button" href={`/api/jobs/${name}/zip`}>
              Motion (zip)
            </a>
            <a className="button" href={`/api/jobs/${name}/pages/excitation`} target="_blank" rel="noreferrer">
              As a page
            </a>
          </>
        }
      >
        <div className="stage inset">
          <Scene robot={view.robot} drawing={view.drawing} q={q[frame]} fitTo={q.filter((_, k) => k % 20 === 0)} showFrames={false} showCapsules={capsules} floor={view.floor} boxes={[...view.boxes, ...view.rooms]} label={`Motion of ${view.robot.robot}`} />
        </div>
        <div className="player">
          <button type="button" onClick={() => setPlaying(!playing)}>
            {playing ? "Pause" : "Play"}
          </button>
          <input
            type="range"
            aria-label="Time"
            min={0}
            max={t.length - 1}
            value={frame}
            onChange={(e) => {
              setPlaying(false);
              setFrame(Number(e.target.value));
            }}
          />
          <output>{t[frame].toFixed(2)} s</output>
          <CheckField label="capsules" value={capsules} onChange={setCapsules} />
        </div>
        <Facts
          pairs={[
            ["condition number", shown(result.condition)],
            ["columns scaled", shown(result.scaled_condition)],
            ["duration", `${shown(result.duration)} s`],
          ]}
        />
        <ul className="sentences">
          {view.sentences.filter((sentence) => !sentence.startsWith("Not checked")).map((sentence, k) => (
            <li key={k}>{sentence}</li>
          ))}
        </ul>
        {result.not_checked.length > 0 && (
          <div className="message warn">
            <b>Not protected</b>
            <span>{result.not_checked.join("; ")}</span>
          </div>
        )}
      </Panel>
      <Panel title="Use of the limits">
        <Scroll label="Use of the limits">
          <table>
            <thead>
              <tr>
                <th scope="col">joint</th>
                {used.map((key) => (
                  <th scope="col" key={key}>
                    {key}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {view.joints.map((joint, j) => (
                <tr key={joint}>
                  <th scope="row">{joint}</th>
                  {used.map((key) => (
                    <td key={key}>
                      <span className="meter" aria-hidden="true">
                        <i style={{ width: `${Math.min(100, 100 * (margins[key] as number[])[j])}%` }} />
                      </span>{" "}
                      {(100 * (margins[key] as number[])[j]).toFixed(0)} %
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Panel>
      <Panel
        title="Motion"
        tools={
          <span className="segment" role="group" aria-label="Quantity">
            {Object.entries(units).map(([key, [title]]) => (
              <button key={key} type="button" aria-pressed={quantity === key} onClick={() => setQuantity(key)}>
                {title}
              </button>
            ))}
          </span>
        }
      >
        <Plot
          title={units[quantity][0]}
          unit={units[quantity][1]}
          t={view.t}
          height={240}
          series={view.curves[quantity].map((values, j) => ({ label: view.joints[j], values, colour: COLOURS[j % COLOURS.length] }))}
        />
      </Panel>
      <Panel title="Predicted deviations">
        <p className="soft">What this motion promises for each base parameter ({result.noise_basis}).</p>
        <Scroll label="Predicted deviations" tall>
          <table>
            <thead>
              <tr>
                <th scope="col">parameter</th>
                <th scope="col" className="number">
                  deviation
                </th>
                <th scope="col" className="number">
                  of its size
                </th>
                <th scope="col">
                  <span className="hidden">bar</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(result.parameters).map(([parameter, { deviation, relative }]) => (
                <tr key={parameter}>
                  <th scope="row">
                    <ParameterName name={parameter} />
                  </th>
                  <td className="number">{deviation === null ? "not shown" : shown(deviation, 3)}</td>
                  <td className="number">{percent(relative)}</td>
                  <td>
                    {relative !== null && (
                      <span className="meter" aria-hidden="true">
                        <i className={relative > 0.1 ? "poor" : ""} style={{ width: `${Math.min(100, 100 * relative)}%` }} />
                      </span>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Panel>
    </div>
  );
}
