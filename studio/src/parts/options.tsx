import { useCampaign } from "../campaign";
import { OPTIONS } from "../options";
import type { Changes, Table } from "../types";
import { CheckField, NumberField, SelectField } from "./bits";

interface OptionData { help: string; unit: string; type: string; choices?: readonly string[]; low?: number; high?: number; default?: unknown }
export type TableName = keyof typeof OPTIONS;

/** The options of a table of the campaign that a form can ask for, as they are declared; the others stay in the file. */
export function OptionFields({ table }: { table: TableName }) {
  const { campaign, change } = useCampaign();
  if (!campaign) return null;
  const values = ((campaign as unknown as Record<string, Table>)[table] ?? {}) as Table;
  const set = (key: string, value: unknown) => change({ [table]: { [key]: value } } as Changes);
  return (
    <div className="fields wide">
      {Object.entries(OPTIONS[table] as Record<string, OptionData>).map(([key, one]) => {
        const label = key.replaceAll("_", " ");
        const value = values[key] ?? one.default;
        if (one.type === "flag") return <span key={key} title={one.help}><CheckField label={label} value={value === true} onChange={(on) => set(key, on)} /></span>;
        if (one.type === "choice") return <span key={key} title={one.help}><SelectField label={label} value={String(value ?? "")} options={[...(one.choices ?? [])]} onChange={(chosen) => set(key, chosen)} /></span>;
        if (one.type !== "number" && one.type !== "whole") return null;
        return (
          <span key={key} title={one.help}>
            <NumberField label={label} unit={one.unit || undefined} placeholder="chosen" min={one.low} max={one.high} step={one.type === "whole" ? 1 : undefined} value={typeof value === "number" ? value : null} onChange={(number) => set(key, number)} />
          </span>
        );
      })}
    </div>
  );
}
