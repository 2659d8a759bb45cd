import { Deviations, LimitUse, MotionWords, PlayedAlone, PlayedWithCurves, type PlayedView } from "../parts/motion";
import type { MotionView } from "../types";
import { type DocumentView, partsOf, Summary } from "./document";
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
        { id: "played", title: "The motion played", body: <PlayedWithCurves view={view} /> },
        { id: "limits", title: "Use of the limits", body: <LimitUse view={view} /> },
        { id: "deviations", title: "Predicted deviations", body: <Deviations view={view} /> },
      ]}
    />
  );
}

/** A page of blocks about motions, which are played first of all. */
export function PlayedPage({ data }: { data: PageData<DocumentView & { played: PlayedView }> }) {
  const { view } = data;
  return <Document data={data} summary={<Summary view={view} />} parts={[{ id: "played", title: "The motions played", body: <PlayedAlone view={view.played} /> }, ...partsOf(view)]} />;
}
