import { useEffect, useMemo, useRef, useState } from "react";
import type { LiveModel } from "../types";
import { shown } from "./bits";

type Answer = { kind: "ready" } | { kind: "made"; number: number; tau: number[][] } | { kind: "failed"; why: string };
const AGREES = 1e-9; // of the largest effort: what differences of sines and of the order of sums can make

/** The code in a worker: null until it is loaded; a sentence where it cannot be. */
function useCode(name: string, n: number): [((states: number[][]) => Promise<number[][]>) | null, string | null] {
  const [call, setCall] = useState<{ run: (states: number[][]) => Promise<number[][]> } | null>(null);
  const [why, setWhy] = useState<string | null>(null);
  useEffect(() => {
    const worker = new Worker(new URL("./model.worker.ts", import.meta.url), { type: "module" });
    const waiting = new Map<number, (tau: number[][]) => void>();
    let count = 0;
    const run = (states: number[][]) =>
      new Promise<number[][]>((done) => {
        waiting.set(++count, done);
        worker.postMessage({ kind: "run", number: count, states });
      });
    worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.kind === "ready") setCall({ run });
      else if (data.kind === "failed") setWhy(data.why);
      else {
        waiting.get(data.number)?.(data.tau);
        waiting.delete(data.number);
      }
    };
    worker.onerror = () => setWhy("this browser does not run WebAssembly here");
    fetch(`/api/jobs/${name}/model`)
      .then(async (answer) => {
        if (!answer.ok) throw new Error("the compiled model is not there any more; generate it again");
        const code = await answer.arrayBuffer();
        worker.postMessage({ kind: "load", code, n }, [code]);
      })
      .catch((error: Error) => setWhy(error.message));
    return () => worker.terminate();
  }, [name, n]);
  return [call?.run ?? null, why];
}

/** Sliders for positions, velocities and accelerations, and the efforts that the generated code makes of them. */
export function Live({ name, model }: { name: string; model: LiveModel }) {
  const n = model.joints.length;
  const [run, why] = useCode(name, n);
  const [state, setState] = useState<number[]>(() => new Array<number>(3 * n).fill(0));
  const [tau, setTau] = useState<number[] | null>(null);
  const [off, setOff] = useState<number | null>(null);
  const newest = useRef(0);

  useEffect(() => {
    if (!run) return;
    const { q, qd, qdd, tau: wanted } = model.states;
    void run(q.map((row, k) => [...row, ...qd[k], ...qdd[k]])).then((found) => {
      const largest = Math.max(...wanted.flat().map(Math.abs));
      setOff(Math.max(...found.flatMap((row, k) => row.map((value, j) => Math.abs(value - wanted[k][j])))) / largest);
    });
  }, [run, model]);

  useEffect(() => {
    if (!run) return;
    const own = ++newest.current;
    void run([state]).then(([found]) => own === newest.current && setTau(found));
  }, [run, state]);

  const size = useMemo(() => Math.max(1e-9, ...model.states.tau.flat().map(Math.abs)), [model]);
  if (why) return <p className="soft">The model does not run here: {why}.</p>;
  if (!run || !tau) return <p className="soft">Loading the code …</p>;
  const set = (k: number, value: number) => setState(state.map((old, i) => (i === k ? value : old)));
  return (
    <>
      <p className={off !== null && off < AGREES ? "good-words" : "soft"} role="status">
        {off === null ? "comparing with Python …" : off < AGREES ? `agrees with Python at ${model.states.q.length} random states (largest difference ${shown(off, 2)} of the largest effort)` : `does not agree with Python (${shown(off, 2)} of the largest effort); report it`}
      </p>
      <div className="live">
        {model.joints.map((joint, j) => {
          const wide = joint.slides ? 0.5 : Math.PI, fast = joint.velocity ?? (joint.slides ? 1 : 3);
          const rows: [string, number, number, number, string][] = [
            ["position", j, joint.lower ?? -wide, joint.upper ?? wide, joint.slides ? "m" : "rad"],
            ["velocity", n + j, -fast, fast, joint.slides ? "m/s" : "rad/s"],
            ["acceleration", 2 * n + j, -10, 10, joint.slides ? "m/s²" : "rad/s²"],
          ];
          return (
            <fieldset key={joint.name} className="plain-set">
              <legend>{joint.name}</legend>
              {rows.map(([what, k, low, high, unit]) => (
                <div key={what} className="slider">
                  <label htmlFor={`live${k}`}>{what}</label>
                  <input id={`live${k}`} type="range" min={low} max={high} step={(high - low) / 400} value={state[k]} onChange={(e) => set(k, Number(e.target.value))} />
                  <output htmlFor={`live${k}`}>
                    {state[k].toFixed(2)} {unit}
                  </output>
                </div>
              ))}
              <div className="effort" data-effort={tau[j]}>
                <span className="effort-bar" aria-hidden="true">
                  <i style={{ left: `${tau[j] < 0 ? 50 - bar(tau[j], size) : 50}%`, width: `${bar(tau[j], size)}%` }} />
                </span>
                <output aria-label={`effort of ${joint.name}`}>
                  {shown(tau[j], 4)} {joint.slides ? "N" : "N m"}
                </output>
              </div>
            </fieldset>
          );
        })}
      </div>
      <p className="actions">
        <button type="button" onClick={() => setState(new Array<number>(3 * n).fill(0))}>
          All to zero
        </button>
      </p>
    </>
  );
}

const bar = (value: number, size: number) => Math.min(50, (50 * Math.abs(value)) / size);
