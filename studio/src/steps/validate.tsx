import { Archive, Empty, SelectField, Stale } from "../parts/bits";
import { Fit } from "../parts/fit";
import { useRuns, useStudio } from "../studio";
import type { FitView } from "../types";

export default function ValidateStep() {
  const { go } = useStudio();
  const { done: runs, name, shown: job, view } = useRuns<FitView>("identify");
  if (!name || !job) return <Empty>No identification yet; run one in the step Identify.</Empty>;
  return (
    <>
      <div className="bar titled">
        <SelectField label="Run" value={name} options={runs.map((one) => one.name)} names={Object.fromEntries(runs.map((one) => [one.name, one.stale.length ? `${one.name}, ${one.stale[0]}` : one.name]))} onChange={(run) => go(`/validate/${run}`)} />
        <a className="button" href={`/api/jobs/${name}/pages/report`} target="_blank" rel="noreferrer">
          Report as a page
        </a>
        <Archive job={job} label="Model and report (zip)" />
      </div>
      <Stale job={job} />
      <div className={job.stale.length ? "old" : undefined}>{view && <Fit key={name} view={view} name={name} />}</div>
    </>
  );
}
