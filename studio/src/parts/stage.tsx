import { type ReactNode, useState } from "react";
import { CheckField } from "./bits";
import { useLook } from "./look";
import { PRESETS, Scene, type SceneProps, type Shapes } from "./scene";
import { Segment } from "./table";

const SHAPES: { key: Shapes; title: string }[] = [
  { key: "on", title: "shapes" },
  { key: "transparent", title: "glass" },
  { key: "off", title: "lines" },
];

type Shown = Omit<SceneProps, "camera" | "onCamera" | "closer" | "shapes" | "trail">;

/** The robot in three dimensions with its tools: where it is seen from, how it is drawn, and the path of its flange. */
export function Stage({ path, words, className = "", children, ...shown }: Shown & { path?: number[][]; words?: ReactNode; className?: string; children?: ReactNode }) {
  const [camera, setCamera] = useLook("camera", "3-D");
  const [shapes, setShapes] = useLook("shapes", "on");
  const [trail, setTrail] = useLook("path", "off");
  const [closer, setCloser] = useState(0);
  const hasPath = !!path && path.length > 1 && !shown.drawing.has_loops;
  return (
    <>
      <div className={`stage ${className}`}>
        <Scene {...shown} camera={camera} onCamera={setCamera} closer={closer} shapes={shapes as Shapes} trail={hasPath && trail === "on" ? path : undefined} />
        {words && <p className="stage-label">{words}</p>}
      </div>
      <div className="toggles stage-tools">
        <Segment label="Seen from" options={Object.keys(PRESETS).map((key) => ({ key, title: key }))} value={camera} onChange={setCamera} />
        <button type="button" title="Move the camera so that the robot fills the picture" onClick={() => setCloser(closer + 1)}>
          Fit
        </button>
        <Segment label="Links drawn as" options={SHAPES} value={shapes} onChange={setShapes} />
        {hasPath && <CheckField label="path of the flange" value={trail === "on"} onChange={(on) => setTrail(on ? "on" : "off")} />}
        {children}
      </div>
    </>
  );
}
