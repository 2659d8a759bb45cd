import { Facts, percent, shown, units } from "../parts/bits";
import { ParameterName } from "../parts/names";
import { SignificanceCurve } from "../parts/significance";
import { DataTable, Meter, numbers } from "../parts/table";
import { Interval } from "../parts/values";
import type { Rule, SignificanceView } from "../types";
import { Document, type PageData } from "./shell";

const WIDE = 1.96;

export function SignificancePage({ data }: { data: PageData<SignificanceView> }) {
  const { view } = data;
  const { elimination, one_percent } = view;
  return (
    <Document
      data={data}
      summary={
        <>
          <p className="lead">Essential parameters: the fewest that predict as well.</p>
          <Facts
            pairs={[
              ["excited values", one_percent.count],
              ["essential values", elimination.essential.length],
              ["contribute enough", one_percent.essential.length],
              ["residual", `${percent(elimination.relative_before)} to ${percent(elimination.relative_after)}`],
              ["condition number", `${shown(elimination.condition_before, 3)} to ${shown(elimination.condition_after, 3)}`],
            ]}
          />
        </>
      }
      parts={[
        { id: "curve", title: "Number of values against error and operations", body: <SignificanceCurve view={view} /> },
        {
          id: "essential",
          title: `${elimination.essential.length} values that predict as well`,
          body: <Essential rule={elimination} view={view} />,
        },
        { id: "contributions", title: "Contributions", body: <Contributions view={view} /> },
      ]}
    />
  );
}

function Essential({ rule, view }: { rule: Rule; view: SignificanceView }) {
  return (
    <>
      <p className="soft">
        By {rule.rule}; fitted again without the others. Bars: 95 % interval on a scale of its own.
      </p>
      <DataTable
        label="Essential values"
        columns={["parameter", numbers("value"), numbers("deviation"), { title: "unit", className: "unit" }, { title: "95 % interval", className: "bar-cell" }]}
        rows={rule.essential.map(({ name, value, deviation }) => ({
          key: name,
          cells: [<ParameterName name={name} />, shown(value), shown(deviation, 2), units(view.units[name] ?? ""), <Interval low={value - WIDE * deviation} high={value + WIDE * deviation} value={value} />],
        }))}
      />
    </>
  );
}

/** The largest effort of each value over the joint's largest measured effort. */
function Contributions({ view }: { view: SignificanceView }) {
  const { one_percent: rule, elimination } = view;
  const kept = new Set(rule.essential.map((p) => p.name)), stays = new Set(elimination.essential.map((p) => p.name));
  const rows = Object.entries(rule.contributions)
    .map(([name, all]) => ({ name, all, largest: Math.max(...all) }))
    .sort((a, b) => b.largest - a.largest);
  return (
    <>
      <p className="soft">
        Largest effort of each value over the largest effort of the joint. By {rule.rule}, {rule.essential.length} stay.
      </p>
      <DataTable
        label="Contributions"
        columns={["parameter", numbers("largest"), { title: <span className="hidden">bar</span> }, "contributes", "needed", ...view.joints.map(numbers)]}
        rows={rows.map(({ name, all, largest }) => ({
          key: name,
          cells: [<ParameterName name={name} />, percent(largest), <Meter part={largest} poor={!kept.has(name)} />, kept.has(name) ? "yes" : "", stays.has(name) ? "yes" : "", ...all.map((v) => <span className="soft">{percent(v)}</span>)],
        }))}
      />
    </>
  );
}
