import { Facts, percent, shown, units } from "../parts/bits";
import { DataTable, numbers } from "../parts/table";
import { Interval } from "../parts/values";
import { Document, type PageData, told } from "./shell";

const WIDE = 1.96; // deviations to either side of a 95 % interval
const PAIRS = ["xx", "xy", "xz", "yy", "yz", "zz"];
const MAKERS: Record<string, string> = { ur: "Universal Robots, set_target_payload", kuka: "KUKA, $LOAD", franka: "Franka, setLoad" };

interface PayloadView {
  robot: string;
  frame: string;
  mass: number;
  mass_deviation: number;
  com: number[];
  com_deviation: number[];
  inertia: number[];
  inertia_deviation: number[];
  physical: boolean;
  not_excited: Record<string, string>;
  cautions: string[];
  fields: Record<string, Record<string, unknown>>;
  fields_frame: string | null;
  no_fields: string | null;
  residuals: Record<string, [number, number]>; // of each effort and of all, without and with the load
  logs: string[];
}

interface Measured { name: string; value: number; deviation: number | null; unit: string }

/** Values with half their 95 % intervals: the one measure of uncertainty on these pages. */
function MeasuredTable({ label, rows }: { label: string; rows: Measured[] }) {
  return (
    <DataTable
      label={label}
      columns={["quantity", numbers("value"), numbers("± for 95 %"), { title: "unit", className: "unit" }, { title: "95 % interval", className: "bar-cell" }]}
      rows={rows.map(({ name, value, deviation, unit }) => ({
        key: name,
        cells: [<span className="whole">{name}</span>, shown(value, 5), shown(deviation === null ? null : WIDE * deviation, 2), units(unit), deviation !== null && <Interval low={value - WIDE * deviation} high={value + WIDE * deviation} value={value} />],
      }))}
    />
  );
}

export function PayloadPage({ data }: { data: PageData<PayloadView> }) {
  const { view } = data;
  const rows: Measured[] = [
    { name: "mass", value: view.mass, deviation: view.mass_deviation, unit: "kg" },
    ...["x", "y", "z"].map((axis, k) => ({ name: `centre ${axis}`, value: view.com[k], deviation: view.com_deviation[k], unit: "m" })),
    ...PAIRS.map((pair, k) => ({ name: `I${pair}`, value: view.inertia[k], deviation: view.inertia_deviation[k], unit: "kg m2" })),
  ];
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">
            Payload in the frame of <b>{view.frame}</b>; moments of inertia about the load's centre of mass.
          </p>
          <Facts
            pairs={[
              ["mass", `${shown(view.mass, 5)} ± ${shown(WIDE * view.mass_deviation, 2)} kg (95 % interval)`],
              ["centre of mass", `(${view.com.map((v) => shown(v, 3)).join(", ")}) m`],
              ["residual, with the load", percent(view.residuals.all?.[1])],
              ["physically consistent", view.physical ? "yes" : "no"],
              ["logs", view.logs.join(", ") || "–"],
            ]}
          />
          {view.cautions.map((text) => (
            <div key={text} className="message warn">
              <b>Caution</b>
              <span>{text}</span>
            </div>
          ))}
        </>
      }
      parts={[
        { id: "residuals", title: "Residual over effort", body: <Residuals of={view.residuals} /> },
        { id: "load", title: "Mass, centre and inertia", body: <MeasuredTable label="Mass, centre and inertia" rows={rows} /> },
        told("unexcited", "Not excited", Object.values(view.not_excited)),
        {
          id: "fields",
          title: "In the fields of controllers",
          body:
            view.fields_frame === null ? (
              <p>Not stated: {view.no_fields}.</p>
            ) : (
              <>
                <p>
                  Centre and axes of inertia in the frame of the flange, <b>{view.fields_frame}</b>; inertia about the centre of mass.
                </p>
                {Object.entries(view.fields).map(([maker, fields]) => (
                  <div key={maker}>
                    <h3>
                      {MAKERS[maker] ?? maker}, in {view.fields_frame}
                    </h3>
                    <pre tabIndex={0}>{Object.entries(fields).map(([name, value]) => `${name} = ${written(value)}`).join("\n")}</pre>
                  </div>
                ))}
              </>
            ),
        },
      ]}
    />
  );
}

/** What the robot alone, and the robot with the load, leave of the efforts of the loaded logs. */
function Residuals({ of }: { of: PayloadView["residuals"] }) {
  return (
    <>
      <p className="soft">Norm of the residual over norm of the effort in the logs with the load, filtered as for the fit.</p>
      <DataTable label="Residual over effort" columns={["joint", numbers("robot alone"), numbers("with the load")]} rows={Object.entries(of).map(([name, pair]) => ({ key: name, cells: [<span className="whole">{name === "all" ? "all joints" : name}</span>, ...pair.map((value) => percent(value))] }))} />
    </>
  );
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${k} ${written(v)}`).join(", ")}}`;
  return typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value);
}

export function GainsPage({ data }: { data: PageData<{ robot: string; logs: string[]; gains: { joint: string; gain: number; deviation: number }[] }> }) {
  const rows = data.view.gains.map(({ joint, gain, deviation }) => ({ name: joint, value: gain, deviation, unit: "N m or N per logged unit" }));
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">Effort per logged unit of each joint, from logs without and with a load that is known.</p>
          <Facts pairs={[["joints", rows.length], ["logs", data.view.logs.join(", ") || "–"]]} />
        </>
      }
      parts={[{ id: "gains", title: "Gains of the drives", body: <MeasuredTable label="Gains of the drives" rows={rows} /> }]}
    />
  );
}
