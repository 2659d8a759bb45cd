import { useMemo, useState } from "react";
import { JOBS } from "../options";
import { Empty, Facts, JobLine, Panel, percent, SelectField, Stale } from "../parts/bits";
import { Fields } from "../parts/options";
import { Strip } from "../parts/strip";
import { Plot, raised } from "../parts/plot";
import { DataTable, Sentences } from "../parts/table";
import { latest, useAsked, useStudio, useView } from "../studio";
import type { FleetStream, FleetView, Table } from "../types";

const { today: _, ...ASKED } = JOBS.fleet; // the page is of the newest day

export default function FleetStep() {
  const { project, run } = useStudio();
  const [store, setStore] = useState<string | null>(null);
  const [asked, setAsked] = useAsked("fleet");
  const chosen = store ?? project.stores[0]?.key ?? "";
  const job = latest(project, "fleet");
  const done = project.jobs.find((one) => one.kind === "fleet" && one.state === "done" && one.settings.store === chosen);
  const view = useView<FleetView>(done);
  if (!project.stores.length) return <Empty>There is no store of a fleet in this folder yet. Logs of several robots and days make one; the page Fleets of the documentation says how.</Empty>;
  return (
    <>
      <div className="bar">
        <SelectField label="store" value={chosen} options={project.stores.map((one) => one.key)} names={Object.fromEntries(project.stores.map((one) => [one.key, one.title]))} onChange={setStore} />
        <Fields options={ASKED} values={asked as Table} set={(key, value) => setAsked({ ...asked, [key]: value })} />
        <button type="button" className="main" disabled={job?.state === "running"} onClick={() => void run("fleet", { ...asked, store: chosen })}>
          {done ? "Judge again" : "Judge"}
        </button>
        {done && (
          <a className="button" href={`/api/jobs/${done.name}/pages/fleet`} target="_blank" rel="noreferrer">
            As a page
          </a>
        )}
      </div>
      <JobLine job={job} what="Evaluating the fleet" />
      <Stale job={done} />
      {view ? <Judged view={view} /> : job?.state !== "running" && <Empty>Not evaluated yet: alarms, and every robot and day at a glance.</Empty>}
    </>
  );
}

const RobotButton = ({ name, pick }: { name: string; pick: (name: string) => void }) => (
  <button type="button" className="plain" onClick={() => pick(name)}>
    {name}
  </button>
);

function Judged({ view }: { view: FleetView }) {
  const { path, go } = useStudio();
  const named = path[1] ? decodeURIComponent(path[1]) : undefined;
  const robot = view.robots.some((one) => one.name === named) ? named! : view.robots[0]?.name;
  const pick = (name: string) => go(`/fleet/${encodeURIComponent(name)}`);
  return (
    <div className="stack">
      <Panel title={`${view.statement[0].toUpperCase()}${view.statement.slice(1)}`}>
        <Facts
          pairs={[
            ["robots", view.robots.length],
            ["alarms", view.alarms.length],
            ["days", `${view.first} to ${view.last}`],
            ["store", view.store],
          ]}
        />
        {view.findings?.length > 0 && (
          <DataTable
            label="Robots to inspect"
            columns={["robot", { title: "what happened", className: "sentence" }, "joints", { title: "what to do", className: "sentence" }]}
            rows={view.findings.map((own) => ({ key: own.robot, cells: [<RobotButton key="r" name={own.robot} pick={pick} />, own.text, own.joints.join(", "), own.suggestion] }))}
          />
        )}
      </Panel>
      {view.alarms.length > 0 && (
        <Panel title="Alarms">
          <DataTable
            label="Alarms"
            columns={["robot", "joint", { title: "what changed", className: "whole" }, { title: "by", className: "whole" }, { title: "since", className: "whole" }, "by chance", "of the effort limit"]}
            rows={view.alarms.map((a, k) => ({
              key: String(k),
              cells: [<RobotButton key="r" name={a.robot} pick={pick} />, a.joint ?? "", a.what, a.by, a.began, raised(a.chance), a.cost === null ? "–" : percent(a.cost)],
            }))}
          />
          {view.lives?.length > 0 && (
            <>
              <h3>States, and who has dealt with them</h3>
              <DataTable
                label="States of the alarms"
                columns={["alarm", "state", { title: "first", className: "whole" }, { title: "last", className: "whole" }, "by", { title: "reason", className: "sentence" }, { title: "until", className: "whole" }]}
                rows={view.lives.map((own) => ({ key: own.alarm, cells: [own.alarm, own.state, own.first, own.last, own.by, own.reason, own.until] }))}
              />
            </>
          )}
        </Panel>
      )}
      <Panel title="Every robot, every day">
        <Strip view={view} robot={robot} onPick={pick} />
      </Panel>
      {robot && (
        <Panel title={`${robot} over its days`} tools={<SelectField label="robot" value={robot} options={view.robots.map((one) => one.name)} onChange={pick} />}>
          <Days key={robot} streams={view.streams[robot]} />
        </Panel>
      )}
      {view.not_judged.length > 0 && (
        <Panel title="Not judged">
          <DataTable label="Not judged" columns={["robot", ...view.not_judged[0].slice(1).map((_, k, all) => (k === all.length - 1 ? "why" : "joints"))]} rows={view.not_judged.map((row, k) => ({ key: String(k), cells: row }))} />
        </Panel>
      )}
      {(view.faults.length > 0 || view.notes.length > 0) && (
        <Panel title="Remarks">
          <Sentences texts={[...view.faults, ...view.notes]} />
        </Panel>
      )}
    </div>
  );
}

function Days({ streams }: { streams: FleetStream[] | undefined }) {
  if (!streams) return <Empty>So large a fleet has the days of robots with alarms here; this one's are in the store.</Empty>;
  if (!streams.length) return <Empty>Nothing of this robot was judged.</Empty>;
  return (
    <>
      <p className="soft">Levels over those that were learnt; dotted: 95 % of a day's own noise.</p>
      <div className="plots">
      {[...streams].sort((a, b) => Number(b.is_alarm) - Number(a.is_alarm)).map((stream) => (
        <Stream key={stream.joint ?? "load"} stream={stream} />
      ))}
      </div>
    </>
  );
}

function Stream({ stream }: { stream: FleetStream }) {
  const first = stream.days[0];
  const t = useMemo(() => stream.days.map((day) => day - first), [stream, first]);
  const series = useMemo(
    () =>
      stream.levels.flatMap(({ name, y, half }, k) => {
        const colour = ["--c1", "--c2"][k % 2];
        const edge = (sign: number) => y.map((v, d) => (v === null || half[d] === null ? null : v + sign * (half[d] as number)));
        return [
          { label: name, values: y, colour, width: 1.6 },
          { label: `${name}, at most`, values: edge(1), colour, width: 0.7, dash: [2, 3], quiet: true },
          { label: `${name}, at least`, values: edge(-1), colour, width: 0.7, dash: [2, 3], quiet: true },
        ];
      }),
    [stream],
  );
  return (
    <div>
      <Plot title={`${stream.joint ?? "load"}${stream.is_alarm ? ", alarm" : ""}`} unit={stream.joint ? "% over the learnt level" : "% of the moving mass"} t={t} height={180} over={{ name: `days since ${stream.dates[0]}`, unit: "" }} series={series} />
      {stream.events.length > 0 && <p className="soft">{stream.events.map((event) => `${event.date}: ${event.kind}`).join("; ")}</p>}
    </div>
  );
}
