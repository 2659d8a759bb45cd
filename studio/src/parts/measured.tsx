import type { ReactNode } from "react";
import { upload } from "../api";
import type { JobSettings } from "../options";
import { useAsked, useRuns, useStudio } from "../studio";
import type { FitView } from "../types";
import { Archive, DropZone, Empty, JobLine, Panel, SelectField, Stale } from "./bits";
import { Fit } from "./fit";
import { JobFields } from "./options";
import { Uses } from "./uses";

type Kind = "calibrate" | "wrench";

/** A step that fits files of measurements of its own, apart from the campaign of the logs; children: further settings. */
export function MeasuredStep<K extends Kind>({ kind, start, what, row, result, children }: {
  kind: K;
  start: string; // on the button
  what: string; // is done
  row: string; // what a row of a file has
  result: string; // what the archive holds
  children?: (asked: JobSettings[K], set: (asked: JobSettings[K]) => void) => ReactNode;
}) {
  const { project, refresh, say, run, path, go } = useStudio();
  const { job, done: runs, shown, name, view } = useRuns<FitView>(kind);
  const [last, setAsked] = useAsked(kind);
  const files = project.files.filter((file) => file.kind === "log");
  const here = (keys: string[] | null | undefined) => keys?.filter((key) => files.some((file) => file.key === key));
  const asked = { ...last, measurements: here(last.measurements), validate: here(last.validate) };

  const drop = async (dropped: File[]) => {
    try {
      for (const file of dropped) await upload("log", file, project.largest);
      say(null);
    } catch (error) {
      say((error as Error).message);
    }
    await refresh();
  };
  const begin = () => {
    void run(kind, asked);
    if (path[1]) go(`/${kind}`);
  };

  return (
    <div className="stack">
      <div className="bar">
        <DropZone label="Open measurements" hint={`or drop them here: ${project.log_endings.join(" ")}`} accept={[...project.log_endings, ".gz"].join()} multiple onFiles={drop} />
      </div>
      <div className="split even">
        <div className="pane">
          <Panel title="Measurements">
            {files.length ? (
              <Uses logs={files} train={asked.measurements ?? []} unseen={asked.validate ?? []} onChange={(measurements, validate) => setAsked({ ...asked, measurements, validate })} />
            ) : (
              <Empty>No files yet. {row}</Empty>
            )}
          </Panel>
        </div>
        <div className="pane">
          <Panel title="Settings">
            <JobFields job={kind} asked={asked} onChange={setAsked} />
            {children?.(asked, setAsked)}
            <div className="actions">
              <button type="button" className="main" disabled={job?.state === "running" || !asked.measurements?.length} onClick={begin}>
                {start}
              </button>
              {!asked.measurements?.length && <span className="soft">mark files to fit first</span>}
            </div>
          </Panel>
          <JobLine job={job} what={what} />
        </div>
      </div>
      {shown && name && (
        <>
          <div className="bar">
            <SelectField label="Run" value={name} options={runs.map((one) => one.name)} onChange={(chosen) => go(`/${kind}/${chosen}`)} />
            <a className="button" href={`/api/jobs/${name}/pages/report`} target="_blank" rel="noreferrer">
              Report as a page
            </a>
            <Archive job={shown} label={result} />
          </div>
          <Stale job={shown} />
          <div className={shown.stale.length ? "old" : undefined}>{view && <Fit key={name} view={view} name={name} />}</div>
        </>
      )}
    </div>
  );
}
