import { useState } from "react";
import { CheckField } from "../parts/bits";
import { Sliders } from "../parts/robot";
import { Scene } from "../parts/scene";
import type { Drawing, RobotData } from "../types";
import type { PageData } from "./shell";

/** A robot in three dimensions with its sliders, small enough for a cell of a notebook. */
export function RobotPage({ data }: { data: PageData<{ robot: RobotData; drawing: Drawing }> }) {
  const { robot, drawing } = data.view;
  const [q, setQ] = useState(drawing.start);
  const [pointed, setPointed] = useState<number | null>(null);
  const [show, setShow] = useState({ frames: true, masses: false, capsules: false });
  const link = pointed === null ? null : robot.joints[pointed];
  return (
    <main className="cell">
      <h1 className="hidden">{data.title}</h1>
      <div className="stage inset">
        <Scene robot={robot} drawing={drawing} q={q} lit={new Set(pointed === null ? [] : [pointed])} showFrames={show.frames} showMasses={show.masses} showCapsules={show.capsules} onLink={setPointed} label={`${robot.robot} in three dimensions; drag to turn`} />
        <p className="stage-label">{link ? `${link.number} · ${link.link ?? link.name}` : `${robot.robot}: drag to turn, scroll to zoom`}</p>
      </div>
      <div>
        <div className="toggles">
          {(["frames", "masses", "capsules"] as const).map((key) => (
            <CheckField key={key} label={key === "masses" ? "centres of mass" : key} value={show[key]} onChange={(on) => setShow({ ...show, [key]: on })} />
          ))}
          <button type="button" className="plain" onClick={() => setQ(drawing.start)}>
            Reset posture
          </button>
        </div>
        <Sliders joints={robot.joints} names={robot.coordinates} q={q} onChange={setQ} onPoint={setPointed} />
      </div>
    </main>
  );
}
