import { useEffect, useMemo, useState } from "react";
import { getCurves, showHidden, upload } from "../api";
import { useCampaign } from "../campaign";
import { CheckField, DropZone, Empty, Facts, JobLine, NumberField, NumberInput, Panel, Scroll, SelectField, shown, unitsOf } from "../parts/bits";
import { OPTIONS } from "../options";
import { useLook } from "../parts/look";
import { Plot } from "../parts/plot";
import { DataTable, Segment } from "../parts/table";
import { Uses } from "../parts/uses";
import { latest, useLastView, useRobotView, useStudio } from "../studio";
import type { CheckView, LogView, ProposeView, Table } from "../types";

const UNIT_NAMES = { Nm: "N m, or N", A: "A (current)", V: "V", permille: "‰ of rated", percent: "% of rated" };
const SIGNALS = [
  ["q", "position"],
  ["qd", "velocity (optional)"],
  ["effort", "effort"],
] as const;
const COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];

export default function DataStep() {
  const { project, refresh, say, run } = useStudio();
  const { campaign, take, change, saving } = useCampaign();
  const logs = project.files.filter((file) => file.kind === "log");
  const [proposal] = useLastView<ProposeView>("propose");
  const proposing = latest(project, "propose");
  const [pending, setPending] = useState<string | null>(null);

  useEffect(() => {
    if (pending && proposing?.name === pending && proposal && proposing.state === "done") {
      void take(pending);
      setPending(null);
    }
  }, [pending, proposing, proposal, take]);

  const propose = async () => {
    const job = await run("propose", { logs: [] });
    if (job) setPending(job.name);
  };

  const drop = async (files: File[]) => {
    try {
      for (const file of files) await upload("log", file, project.largest);
      say(null);
    } catch (error) {
      say((error as Error).message);
    }
    await refresh();
    if (files.length && !campaign) await propose();
  };

  useEffect(() => {
    // columns to choose from are known once the headers have been read
    if (project.robot && logs.length && !proposing) void run("propose", { logs: [] }).then((job) => job && !campaign && setPending(job.name));
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [logs.length > 0]);

  if (!project.robot) return <Empty>Choose a robot first: logs are read as motions of its joints.</Empty>;
  return (
    <>
      <div className="bar">
        <DropZone label="Open logs" hint={`or drop them here: ${project.log_endings.join(" ")}`} accept={[...project.log_endings, ".gz"].join()} multiple onFiles={drop} />
      </div>
      <JobLine job={proposing} what="Reading headers" />
      {!!proposal?.unread?.length && (
        <div className="message warn">
          <b>Not read</b>
          <span>{proposal.unread.join("; ")}</span>
        </div>
      )}
      {project.campaign_error && (
        <div className="message bad">
          <b>campaign.toml</b>
          <span>{project.campaign_error}</span>
        </div>
      )}
      {logs.length === 0 ? (
        <Empty>No logs yet. A log needs time, positions and efforts of every joint; no robot at hand? Rehearse one in the step Excite.</Empty>
      ) : (
        <div className="stack">
          <Panel
            title="Logs"
            tools={
              <button type="button" onClick={propose} disabled={proposing?.state === "running"}>
                Propose columns and roles from the headers
              </button>
            }
          >
            <Uses logs={logs} train={campaign?.train ?? []} unseen={campaign?.validate ?? []} onChange={(train, validate) => (campaign ? change({ train, validate }) : undefined)} />
          </Panel>
          {project.hidden > 0 && (
            <p className="soft">
              {project.hidden === 1 ? "1 log" : `${project.hidden} logs`} of the folder {project.hidden === 1 ? "is" : "are"} hidden.{" "}
              <button type="button" className="plain" onClick={() => void showHidden().then(refresh, (error: Error) => say(error.message))}>
                Show again
              </button>
            </p>
          )}
          {proposal?.previews && <Previews proposal={proposal} titles={Object.fromEntries(logs.map((log) => [log.key, log.title]))} />}
          {campaign && <Mapping proposal={proposal} again={propose} />}
          {campaign && <Check saving={saving} />}
        </div>
      )}
    </>
  );
}

/** Names that a template or a list stands for, joint by joint. */
function expanded(value: unknown, joints: string[]): string[] {
  if (Array.isArray(value)) return joints.map((_, k) => String(value[k] ?? ""));
  if (typeof value !== "string" || !value || value === "?") return joints.map(() => "");
  return joints.map((name, k) => value.replaceAll("{j}", String(k + 1)).replaceAll("{j0}", String(k)).replaceAll("{joint}", name));
}

const SEPARATORS: Record<string, string> = { ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space" };

/** What a column of a log is used for. */
function useRoles(): Map<string, string> {
  const { campaign } = useCampaign();
  const [robot] = useRobotView();
  return useMemo(() => {
    const joints = robot?.robot.coordinates ?? [], found = new Map<string, string>();
    if (!campaign) return found;
    if (typeof campaign.columns.t === "string") found.set(campaign.columns.t, "time");
    for (const [signal, title] of SIGNALS) expanded(campaign.columns[signal], joints).forEach((name, k) => name && found.set(name, `${title.split(" ")[0]} ${joints[k]}`));
    return found;
  }, [campaign, robot]);
}

/** The first rows of each log as they are in the file, with what its columns are used for. */
function Previews({ proposal, titles }: { proposal: ProposeView; titles: Record<string, string> }) {
  const keys = Object.keys(proposal.previews ?? {}).filter((key) => titles[key]);
  const [chosen, choose] = useLook("preview", keys[0] ?? "");
  const roles = useRoles();
  const key = keys.includes(chosen) ? chosen : keys[0], preview = proposal.previews?.[key];
  if (!preview) return null;
  const names = proposal.columns[key] ?? [], { written } = preview;
  return (
    <Panel title="First rows" tools={keys.length > 1 && <Segment label="Log" options={keys.map((own) => ({ key: own, title: titles[own] }))} value={key} onChange={choose} />}>
      {written && (
        <Facts
          pairs={[
            ["separator", SEPARATORS[written.delimiter] ?? written.delimiter],
            ["decimal sign", written.decimal === "," ? "comma" : "point"],
            ["encoding", written.encoding],
            ["columns", names.length],
          ]}
        />
      )}
      <DataTable
        label="First rows of the log"
        columns={names.map((name) => ({
          number: true,
          title: (
            <>
              {name}
              <br />
              <small className={roles.has(name) ? "good-words" : "soft"}>{roles.get(name) ?? "not used"}</small>
            </>
          ),
        }))}
        rows={preview.rows.map((cells, k) => ({ key: String(k), cells }))}
      />
    </Panel>
  );
}

function Mapping({ proposal, again }: { proposal: ProposeView | null; again: () => Promise<void> }) {
  const { campaign, change, saving, conflict } = useCampaign();
  const [reread, setReread] = useState(false); // headers, once a change of how files are written is saved
  useEffect(() => {
    if (!reread || saving) return;
    setReread(false);
    void again();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [reread, saving]);
  const [robot] = useRobotView();
  const joints = useMemo(() => robot?.robot.coordinates ?? [], [robot]);
  const names = useMemo(() => [...new Set(Object.values(proposal?.columns ?? {}).flat())], [proposal]);
  if (!campaign) return null;
  const { columns, drive } = campaign;
  const setColumns = (changes: Table) => change({ columns: Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, value === "" ? null : value])) });
  const setDrive = (changes: Table) => change({ drive: changes });
  const unit = String(columns.effort_unit ?? "");
  const isMotor = drive.position === "motor" || drive.effort === "motor";
  const needsGains = unit !== "" && unit !== "Nm" && unit !== "?";
  const lists = { ratios: isMotor, gains: needsGains };
  const value = (key: "ratios" | "gains", k: number) => {
    const found = Array.isArray(drive[key]) ? (drive[key] as unknown[])[k] : null;
    return typeof found === "number" ? found : null;
  };
  const setValues = (key: "ratios" | "gains", from: number, all: number[]) => setDrive({ [key]: joints.map((_, j) => all[j - from] ?? value(key, j) ?? "?") });
  const isOpen = (asked: unknown) => asked === "?";
  const written = proposal?.previews && Object.values(proposal.previews)[0]?.written;
  const setWriting = (changes: Table) => {
    setColumns(changes);
    setReread(true);
  };
  const setValue = (key: "ratios" | "gains", k: number, number: number | null) =>
    setDrive({ [key]: joints.map((_, j) => (j === k ? number : value(key, j)) ?? "?") });
  const setName = (signal: string, k: number, name: string) => {
    const next = expanded(columns[signal], joints).map((old, j) => (j === k ? name : old));
    setColumns({ [signal]: next.every((n) => !n) ? null : next });
  };
  return (
    <Panel title="Columns" tools={<span className="soft">{conflict ? "not written" : saving ? "saving …" : "saved"}</span>}>
      <div className="fields">
        {columns.rate_hz !== undefined || !columns.t ? (
          <NumberField label="rate" unit="Hz" value={typeof columns.rate_hz === "number" ? columns.rate_hz : null} onChange={(v) => setColumns({ rate_hz: v })} />
        ) : (
          <SelectField label="time" open={isOpen(columns.t)} value={columns.t === "?" ? "" : String(columns.t ?? "")} options={names} onChange={(t) => setColumns({ t })} />
        )}
        <SelectField label="unit of time" value={String(columns.time_unit ?? OPTIONS.columns.time_unit.default)} options={[...OPTIONS.columns.time_unit.choices]} onChange={(v) => setColumns({ time_unit: v })} />
        <SelectField label="angles" open={isOpen(columns.angle)} value={columns.angle === "?" ? "" : String(columns.angle ?? OPTIONS.columns.angle.choices[0])} options={[...OPTIONS.columns.angle.choices]} onChange={(angle) => setColumns({ angle })} />
        <SelectField label="unit of efforts" open={isOpen(columns.effort_unit)} value={unit === "?" ? "" : unit} options={[...OPTIONS.columns.effort_unit.choices]} names={UNIT_NAMES} onChange={(v) => setColumns({ effort_unit: v })} />
        <SelectField label="positions of" value={String(drive.position ?? "joint")} options={[...OPTIONS.drive.position.choices]} names={{ joint: "the joints", motor: "the motors" }} onChange={(v) => setDrive({ position: v })} />
        <SelectField label="efforts of" value={String(drive.effort ?? "joint")} options={[...OPTIONS.drive.effort.choices]} names={{ joint: "the joints", motor: "the motors" }} onChange={(v) => setDrive({ effort: v })} />
        <SelectField label="decimal sign" value={String(columns.decimal ?? OPTIONS.columns.decimal.default)} options={[...OPTIONS.columns.decimal.choices]} names={{ ".": "point: 0.5", ",": "comma: 0,5" }} onChange={(v) => setWriting({ decimal: v })} />
        {written && (
          <>
            <SelectField label="separator" value={String(columns.delimiter ?? "")} options={["", ...OPTIONS.columns.delimiter.choices]} names={{ "": `found: ${SEPARATORS[written.delimiter]}`, ...SEPARATORS }} onChange={(v) => setWriting({ delimiter: v })} />
            <SelectField label="encoding" value={String(columns.encoding ?? OPTIONS.columns.encoding.default)} options={[...OPTIONS.columns.encoding.choices]} onChange={(v) => setWriting({ encoding: v })} />
          </>
        )}
      </div>
      <details open={!names.length ? undefined : SIGNALS.some(([s]) => s !== "qd" && expanded(columns[s], joints).some((n) => !n)) || isMotor || needsGains}>
        <summary>Columns of each joint</summary>
        <Scroll label="Columns of each joint">
          <table className="map">
            <thead>
              <tr>
                <th scope="col">joint</th>
                {SIGNALS.map(([signal, title]) => (
                  <th scope="col" key={signal}>
                    {title}
                  </th>
                ))}
                {lists.ratios && <th scope="col">motor turns per joint turn</th>}
                {lists.gains && <th scope="col">N m per {unit}</th>}
              </tr>
            </thead>
            <tbody>
              {joints.map((joint, k) => (
                <tr key={joint}>
                  <th scope="row">{joint}</th>
                  {SIGNALS.map(([signal, title]) => {
                    const own = expanded(columns[signal], joints)[k];
                    return (
                      <td key={signal}>
                        <ColumnSelect label={`${title} of ${joint}`} value={own} names={names} empty={signal === "qd" ? "differentiated" : "recognised, or choose"} isOpen={signal !== "qd" && !own} onChange={(name) => setName(signal, k, name)} />
                      </td>
                    );
                  })}
                  {(["ratios", "gains"] as const).map(
                    (key) =>
                      lists[key] && (
                        <td key={key} className={value(key, k) === null ? "open" : undefined}>
                          <NumberInput placeholder="needs an answer" onNumbers={(all) => setValues(key, k, all)} aria-label={`${key} of ${joint}`} value={value(key, k)} onChange={(number) => setValue(key, k, number)} />
                        </td>
                      ),
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        {(isMotor || needsGains) && <p className="soft">Paste a row or a column of numbers into the first field to fill all of them.</p>}
      </details>
    </Panel>
  );
}

/** A choice of columns; its list is made when it is first needed, since there may be hundreds of lists of hundreds. */
function ColumnSelect({ label, value, names, empty, isOpen, onChange }: { label: string; value: string; names: string[]; empty: string; isOpen: boolean; onChange: (name: string) => void }) {
  const [all, setAll] = useState(names.length <= FEW);
  const listed = all ? names : [];
  const need = () => setAll(true);
  return (
    <select className={isOpen ? "open" : undefined} aria-label={label} value={value} onFocus={need} onPointerEnter={need} onChange={(e) => onChange(e.target.value)}>
      <option value="">{empty}</option>
      {value && !listed.includes(value) && <option value={value}>{names.includes(value) ? value : `${value} (not in the logs)`}</option>}
      {listed.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

const FEW = 40; // columns whose lists are cheap

/** The check of the campaign as it stands, and what it found. */
export function Check({ saving }: { saving: boolean }) {
  const [robot] = useRobotView();
  const { project, run, identify, isChained } = useStudio();
  const { campaign } = useCampaign();
  const job = latest(project, "check");
  const [view, viewed] = useLastView<CheckView>("check");
  const isCurrent = !!project.check;
  const passed = isCurrent && project.check === job?.name;
  return (
    <Panel
      title="Check"
      tools={
        <>
          <button type="button" disabled={saving || job?.state === "running" || !campaign?.train.length} onClick={() => void run("check")}>
            Check
          </button>
          <button type="button" className="main" disabled={saving || isChained || job?.state === "running" || !campaign?.train.length} onClick={() => void identify()}>
            Check and identify
          </button>
        </>
      }
    >
      <JobLine job={job} what="Check" />
      <JobLine job={isChained ? latest(project, "identify") : undefined} what="Identification" />
      {!campaign?.train.length && <p className="soft">Mark at least one log to fit.</p>}
      {passed && view && (
        <div className={`message ${view.warnings ? "warn" : "good"}`} role="status">
          <b>Passed</b>
          <span>{job?.sentence}. The campaign can run.</span>
        </div>
      )}
      {!isCurrent && job?.state === "done" && view && (
        <div className={`message ${view.ok ? "warn" : "bad"}`} role="status">
          <b>{view.ok ? "Void" : "Not passed"}</b>
          <span>{view.ok ? "the campaign, its robot or a log changed since this check; check again" : job.sentence}</span>
        </div>
      )}
      {view?.logs.map((log) => <LogPanel key={log.log + log.use} log={log} name={viewed?.name} kinds={robot?.robot.joints} />)}
    </Panel>
  );
}

function LogPanel({ log, name, kinds }: { log: LogView; name: string | undefined; kinds: { kind: string }[] | undefined }) {
  const [signal, setSignal] = useState(log.signals.effort ? "effort" : "q");
  const [filtering, setFiltering] = useState(false);
  const rows = log.signals[signal] ?? log.signals.q;
  const smooth = log.filtered?.[`${signal}_filtered`];
  const units: Record<string, string> = { q: "rad or m", command: "rad or m", qd: "rad/s or m/s", effort: log.effort_unit === "Nm" ? "N m or N" : log.effort_unit };
  const titles: Record<string, string> = { q: "positions", qd: "velocities", effort: "efforts", command: "commands" };
  const told = log.findings.filter((f) => f.level !== "info");
  const others = [...log.notes, ...log.findings.filter((f) => f.level === "info").map((f) => `${f.channel ? `${f.channel}: ` : ""}${f.text}`)];
  const shows = filtering && smooth;
  const series = useMemo(() => {
    const raw = rows.map((values, j) => ({ label: log.joints[j], values, colour: shows ? "--measured" : COLOURS[j % COLOURS.length], width: 1.1 }));
    return shows ? [...raw, ...smooth.map((values, j) => ({ label: `${log.joints[j]}, filtered`, values, colour: COLOURS[j % COLOURS.length], width: 1.4 }))] : raw;
  }, [rows, shows, smooth, log]);
  const { number, has_detail } = log;
  const detail = useMemo(() => {
    if (!has_detail || !name || number === undefined) return undefined;
    return (from: number, to: number) => getCurves(name, number, signal, from, to, !!shows);
  }, [has_detail, name, number, signal, shows]);
  return (
    <section>
      <h3>
        {log.log} <span className="soft">{log.use === "train" ? "to fit" : "to predict"}</span>
      </h3>
      <Facts
        pairs={[
          ["samples", log.samples.toLocaleString("en")],
          ["length", `${shown(log.seconds, 4)} s`],
          ["rate", log.rate_hz === null ? "–" : `${shown(log.rate_hz, 4)} Hz`],
          ["low-pass of the fit", log.cutoff_hz == null ? "chosen later" : `${shown(log.cutoff_hz, 3)} Hz`],
        ]}
      />
      {told.length > 0 && (
        <ul className="notes">
          {told.map((f, k) => (
            <li key={k} className={f.level}>
              <b>{[f.channel, f.row === null ? "" : `row ${f.row}`].filter(Boolean).join(", ") || "log"}</b> {f.text}
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <details>
          <summary>{others.length === 1 ? "1 remark" : `${others.length} remarks`}</summary>
          <ul className="sentences">
            {others.map((text, k) => (
              <li key={k}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      {!!log.off?.length && (
        <details>
          <summary>{log.off.length === 1 ? "1 check is off" : `${log.off.length} checks are off`}</summary>
          <ul className="sentences">
            {log.off.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
      <div className="toggles">
        <Segment label={`Signals of ${log.log}`} options={Object.keys(log.signals).map((key) => ({ key, title: titles[key] }))} value={signal} onChange={setSignal} />
        {smooth && <CheckField label={`through the low-pass of ${shown(log.cutoff_hz, 3)} Hz`} value={filtering} onChange={setFiltering} />}
        {has_detail && <span className="soft">drag to zoom: more points come</span>}
      </div>
      <Plot title={titles[signal]} unit={unitsOf(units[signal], kinds)} t={log.t} height={210} detail={detail} series={series} />
    </section>
  );
}
