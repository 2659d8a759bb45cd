import { Deviations, LimitUse, MotionCurves, MotionWords, Played } from "../parts/motion";
import type { MotionView } from "../types";
import { Document, type PageData } from "./shell";

export function MotionPage({ data }: { data: PageData<MotionView> }) {
  const { view } = data;
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">{view.headline}</p>
          <MotionWords view={view} />
        </>
      }
      parts={[
        { id: "played", title: "The motion played", body: <Played view={view} /> },
        { id: "curves", title: "Curves", body: <MotionCurves view={view} /> },
        { id: "limits", title: "Use of the limits", body: <LimitUse view={view} /> },
        { id: "deviations", title: "Predicted deviations", body: <Deviations view={view} /> },
      ]}
    />
  );
}
