import { Facts, shown, units, unitsOf } from "../parts/bits";
import { ParameterName, Relation } from "../parts/names";
import { ClassGrid } from "../parts/robot";
import { DataTable, numbers } from "../parts/table";
import type { BaseView, RobotData } from "../types";
import { Document, made, type PageData, told } from "./shell";

interface PagedBase { robot: RobotData; base: BaseView; frames: string; made: [string, string][] }

export function BasePage({ data }: { data: PageData<PagedBase> }) {
  const { robot, base, frames } = data.view;
  const letters = Object.entries(robot.symbols), unit = unitsOf("rad or m", robot.joints);
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">The smallest set of combinations that determines every joint effort; rank confirmed numerically.</p>
          <Facts
            pairs={[
              ["base parameters", base.count],
              ["standard parameters", base.columns.length],
              ["alone / combination / none", ["alone", "combination", "none"].map((kind) => base.class_counts[kind]).join(" / ")],
              ["joints", robot.joints.length],
              ["base", robot.base],
              ["moving mass", robot.moving_mass === null ? "not given" : `${shown(robot.moving_mass)} kg`],
            ]}
          />
          {robot.missing_links.length > 0 && <p>Nominal values count links without parameters as massless: {robot.missing_links.join(", ")}.</p>}
        </>
      }
      parts={[
        {
          id: "classes",
          title: "What can be seen of each standard parameter",
          body: (
            <>
              <p className="soft">Standard parameters in {frames === "file" ? "the description file's own link frames" : "the joint frames"}, link by link.</p>
              <ClassGrid base={base} joints={robot.joints} />
            </>
          ),
        },
        { id: "parameters", title: `${base.count} base parameters`, body: <Parameters base={base} /> },
        told("certificate", "Certificate", base.certificate),
        robot.joints.length > 0 && {
          id: "robot",
          title: "Robot",
          body: (
            <DataTable
              label="Joints"
              columns={[numbers("number"), "joint", "kind", "carried by", "link", "position [m]", numbers(`lower [${unit}]`), numbers(`upper [${unit}]`)]}
              rows={robot.joints.map((joint) => ({
                key: joint.name,
                cells: [joint.number, joint.name, joint.kind, joint.carried_by, joint.link ?? "", `(${joint.position.join(", ")})`, shown(joint.limits.lower), shown(joint.limits.upper)],
              }))}
            />
          ),
        },
        letters.length > 0 && { id: "letters", title: "Letters", body: <DataTable label="Letters" columns={["letter", numbers("value")]} rows={letters.map(([name, value]) => ({ key: name, cells: [<ParameterName name={name} />, value === null ? "none" : shown(value, 6)] }))} /> },
        made(data.view.made),
      ]}
    />
  );
}

function Parameters({ base }: { base: BaseView }) {
  const hasNominal = base.parameters.some((p) => p.nominal !== null);
  return (
    <>
      {base.parameters.some((p) => p.is_numeric) && <p className="soft">Relations marked numeric hold for this robot's numbers only.</p>}
      <DataTable
        label="Base parameters"
        columns={["parameter", { title: "relation", className: "relation" }, ...(hasNominal ? [numbers("nominal")] : []), { title: "unit", className: "unit" }]}
        rows={base.parameters.map((p) => ({
          key: p.name,
          cells: [
            <ParameterName name={p.name} />,
            <>
              {p.text === p.name ? <span className="soft">alone</span> : <Relation text={p.text} />}
              {p.is_numeric && <span className="flag">numeric</span>}
            </>,
            ...(hasNominal ? [shown(p.nominal)] : []),
            units(p.unit),
          ],
        }))}
      />
    </>
  );
}
