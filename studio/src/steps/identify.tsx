import { Fragment } from "react";
import { useCampaign } from "../campaign";
import { CheckField, Empty, JobLine, NumberField, Panel, SelectField, Stale } from "../parts/bits";
import { verdictLines } from "../parts/efforts";
import { OptionFields, type TableName } from "../parts/options";
import { latest, useStudio, useView } from "../studio";
import { type CampaignTables, ESTIMATORS, OPTIONS } from "../options";
import type { Effect, FitView, Table } from "../types";

const ELSEWHERE = ["columns", "drive", "estimator", "calibration", "wrench"]; // asked for in other places
const SHOWN = (Object.keys(OPTIONS) as TableName[]).filter((name) => !ELSEWHERE.includes(name));

/** Tables of the campaign in words. */
const TITLES: Record<string, string> = { filter: "Filter in detail", model: "Model in detail", evaluation: "Evaluation filter", repairs: "Repairs of logs", command: "Position servos", elastic: "Elastic joints", floor: "Ground contact", floating: "Floating base", logs: "Use of logs" };

const kindOf = (effect: string | Table) => (typeof effect === "string" ? effect : String(effect.kind ?? ""));

export default function IdentifyStep() {
  const { project, run, identify, isChained, go } = useStudio();
  const result = useView<FitView>(latest(project, "identify"));
  const { campaign, change, saving, conflict } = useCampaign();
  const job = latest(project, "identify");
  const check = latest(project, "check");
  if (!project.robot) return <Empty>Choose a robot first.</Empty>;
  if (!campaign || !campaign.train.length) return <Empty>Mark logs to fit in the step Data first.</Empty>;
  const { model, estimator, filter, command } = campaign;
  const chosen = Array.isArray(model.effects) ? (model.effects as Effect[]) : null;
  const setFilter = (changes: Table) => change({ filter: changes });
  // options of one estimator mean nothing to another
  const setEstimator = (name: string) => change({ estimator: { ...Object.fromEntries(Object.keys(estimator).map((key) => [key, null])), name } });
  const titles = Object.fromEntries(project.files.map((file) => [file.key, file.title]));
  const canRun = !saving && !isChained && job?.state !== "running" && check?.state !== "running";
  return (
    <div className="split form">
      <div className="pane">
        <Panel title="Logs">
          <p className="soft">to fit</p>
          <p>{campaign.train.map((key) => titles[key] ?? "a log that is gone").join(", ")}</p>
          <p className="soft">to predict</p>
          <p>{campaign.validate.map((key) => titles[key] ?? "a log that is gone").join(", ") || "none: the verdict will use held-out blocks"}</p>
        </Panel>
        <Panel title="Filter and details">
          <div className="fields">
            <NumberField label="low-pass" unit={OPTIONS.filter.cutoff_hz.unit} placeholder="chosen" min={OPTIONS.filter.cutoff_hz.low} value={filter.cutoff_hz as number | undefined} onChange={(v) => setFilter({ cutoff_hz: v })} />
            <NumberField label="rate of the fit" unit={OPTIONS.filter.rate_hz.unit} placeholder="chosen" min={OPTIONS.filter.rate_hz.low} value={filter.rate_hz as number | undefined} onChange={(v) => setFilter({ rate_hz: v })} />
          </div>
          {SHOWN.map((name) => (
            <details key={name}>
              <summary>{TITLES[name] ?? `All options: ${name.replaceAll("_", " ")}`}</summary>
              <OptionFields table={name} />
            </details>
          ))}
        </Panel>
      </div>
      <div className="pane">
        <Panel title="Model">
          <CheckField
            label="choose the effects of the joints from the logs"
            value={chosen === null}
            onChange={(auto) => change({ model: { effects: auto ? null : project.choices.usual_effects } })}
          />
          {Object.keys(command).length > 0 && (
            <p className="soft">
              Commands instead of efforts: the position servos are fitted with these settings (
              {Object.entries(command)
                .map(([key, value]) => `${key} ${String(value)}`)
                .join(", ")}
              ).
            </p>
          )}
          {chosen !== null && (
            <div className="chips" role="group" aria-label="Effects">
              {project.choices.effects.map((word) => (
                <CheckField
                  key={word}
                  label={word.replaceAll("_", " ")}
                  value={chosen.some((effect) => kindOf(effect) === word)}
                  onChange={(on) => change({ model: { effects: on ? [...chosen, word] : chosen.filter((effect) => kindOf(effect) !== word) } })}
                />
              ))}
            </div>
          )}
          <div className="fields wide" style={{ marginTop: ".7rem" }}>
            <SelectField label="estimator" value={String(estimator.name ?? OPTIONS.estimator.name.default)} options={project.choices.estimators} names={ESTIMATORS} onChange={setEstimator} />
            <SelectField label="parameters" value={String(model.parameters ?? OPTIONS.model.parameters.default)} options={[...OPTIONS.model.parameters.choices]} names={{ base: "base parameters", mlc: "minimal linear combinations" }} onChange={(parameters) => change({ model: { parameters: parameters as CampaignTables["model"]["parameters"] } })} />
          </div>
        </Panel>
        <Panel title="Check and run">
          <p className="soft">A campaign runs once a check of exactly this campaign has passed. Any change of robot, logs or choices voids the check.</p>
          <div className="actions">
            <button type="button" className="main" disabled={!canRun} onClick={() => void identify()}>
              Check and run
            </button>
            <button type="button" disabled={saving || check?.state === "running"} onClick={() => void run("check")}>
              Check only
            </button>
            <span className="soft">
              {conflict ? "not written" : saving ? "saving …" : project.check ? "checked: nothing stands against it" : check?.state === "running" ? "checking …" : check ? "not checked as it stands now" : "not checked yet"}
            </span>
          </div>
        </Panel>
        <JobLine job={check?.state === "running" || check?.state === "failed" ? check : undefined} what="Check" />
        <JobLine job={job} what="Identification" />
        <Stale job={job} />
        {job?.state === "done" && (
          <div className={`${job.stale.length ? "old " : ""}message ${job.grade === "good" ? "good" : "warn"}`} role="status">
            <b>{job.title || job.name}</b>
            {result ? (
              <span>
                {verdictLines(result.result.verdict).map(([question, answer]) => (
                  <Fragment key={question}>
                    {question}: {answer}
                    <br />
                  </Fragment>
                ))}
              </span>
            ) : (
              <span>{job.sentence}</span>
            )}
            <button type="button" onClick={() => go(`/validate/${job.name}`)}>
              Show the result
            </button>
          </div>
        )}
      </div>
    </div>
  );
}
