import { useMemo } from "react";
import type { JudgedLog } from "../types";
import { unitOf } from "./efforts";
import { type Axis, Plot, type Series } from "./plot";

export const LOOKS: Record<string, { title: string; about: string }> = {
  speed: { title: "against speed", about: "Residual of each effort over the joint's speed. A pattern shows friction that the model lacks." },
  position: { title: "against position", about: "Residual of each effort over the joint's position. A pattern shows gravity, springs or cogging that the model lacks." },
  spectrum: { title: "spectrum", about: "Amplitude densities of effort and residual, logarithmic: peaks of the residual are vibrations and ripple; what is flat is noise." },
  friction: { title: "friction curve", about: "Friction as measured (effort less everything else in the model) and as modelled, against speed." },
};
const SPEEDS: Axis[] = [{ name: "speed", unit: "rad/s" }, { name: "speed", unit: "m/s" }];
const POSITIONS: Axis[] = [{ name: "position", unit: "rad" }, { name: "position", unit: "m" }];
const HERTZ: Axis = { name: "frequency", unit: "Hz" };

/** Whether there is anything to look at in this way. */
export function canLook(log: JudgedLog, look: string): boolean {
  if (look === "spectrum") return !!log.spectrum;
  if (look === "friction") return !!log.samples?.friction;
  return !!log.samples?.qd.some((own) => own !== null);
}

/** One log looked at in one of the ways of `LOOKS`, joint by joint. */
export function Patterns({ log, joints, look }: { log: JudgedLog; joints: string[]; look: string }) {
  return (
    <div className="plots">
      {joints.map((joint, j) => (look === "spectrum" ? <Spectrum key={joint} log={log} j={j} joint={joint} /> : <Scatter key={joint + look} log={log} j={j} joint={joint} look={look} />))}
    </div>
  );
}

function Scatter({ log, j, joint, look }: { log: JudgedLog; j: number; joint: string; look: string }) {
  const { samples } = log;
  const drawn = useMemo(() => {
    const along = (look === "position" ? samples?.q : samples?.qd)?.[j];
    if (!samples || !along) return null;
    const order = along.map((_, k) => k).filter((k) => along[k] !== null).sort((a, b) => (along[a] as number) - (along[b] as number));
    const put = (values: (number | null)[]) => order.map((k) => values[k]);
    const series: Series[] =
      look === "friction" && samples.friction && samples.model
        ? [
            { label: "measured", values: put(samples.friction[j]), colour: "--measured-dots", points: true, width: 5 },
            { label: "modelled", values: put(samples.model[j]), colour: "--predicted", points: true },
          ]
        : [{ label: "residual", values: put(samples.residual[j]), colour: "--residual", points: true }];
    return { x: order.map((k) => along[k] as number), series };
  }, [samples, j, look]);
  if (!drawn) return null;
  return <Plot title={joint} unit={unitOf(log, j)} t={drawn.x} series={drawn.series} over={(look === "position" ? POSITIONS : SPEEDS)[Number(log.slides?.[j] ?? false)]} />;
}

function Spectrum({ log, j, joint }: { log: JudgedLog; j: number; joint: string }) {
  const { spectrum } = log;
  const series = useMemo<Series[]>(
    () =>
      spectrum
        ? [
            { label: spectrum.word ?? "effort", values: spectrum.effort[j].map(positive), colour: "--measured", width: 2.6 },
            { label: "residual", values: spectrum.residual[j].map(positive), colour: "--residual" },
          ]
        : [],
    [spectrum, j],
  );
  return spectrum ? <Plot title={joint} unit={`${unitOf(log, j)} / √Hz`} t={spectrum.hz} series={series} over={HERTZ} log /> : null;
}

const positive = (v: number | null) => (v !== null && v > 0 ? v : null); // others have no logarithm
