import { useCampaign } from "../campaign";
import { JOBS, type JobSettings, OPTIONS } from "../options";
import type { Changes, Table } from "../types";
import { CheckField, NumberField, SelectField, TextField, units } from "./bits";

export interface OptionData {
  label?: string;
  help: string;
  unit: string;
  type: string;
  choices?: readonly string[];
  titles?: Readonly<Record<string, string>>;
  low?: number;
  high?: number;
  default?: unknown;
  otherwise?: string;
  options?: Readonly<Record<string, OptionData>>;
}
export type TableName = keyof typeof OPTIONS;
export type JobKind = keyof JobSettings;

/** A field for each option that a form can ask for, as it is declared; null is its default. */
export function Fields({ options, values, set }: { options: Readonly<Record<string, OptionData>>; values: Table; set: (key: string, value: unknown) => void }) {
  return (
    <div className="fields wide">
      {Object.entries(options).map(([key, one]) => {
        const label = one.label ?? key.replaceAll("_", " ");
        const value = values[key] ?? one.default;
        if (one.type === "flag") return <span key={key} title={one.help}><CheckField label={label} value={value === true} onChange={(on) => set(key, on)} /></span>;
        if (one.type === "choice") {
          const isNamed = one.choices?.includes(one.otherwise ?? ""); // what applies without a choice may be one of them
          const open: Record<string, string> = one.default === null && !isNamed ? { "": one.otherwise ?? "chosen" } : {};
          return <span key={key} title={one.help}><SelectField label={label} value={String(value ?? (isNamed ? one.otherwise : ""))} options={[...Object.keys(open), ...(one.choices ?? [])]} names={{ ...open, ...one.titles }} onChange={(chosen) => set(key, chosen || null)} /></span>;
        }
        if (one.type === "choices") {
          const chosen = Array.isArray(value) ? (value as string[]) : [];
          return (
            <fieldset key={key} className="plain-set" title={one.help}>
              <legend>{label}</legend>
              {(one.choices ?? []).map((name) => (
                <div key={name}>
                  <CheckField label={one.titles?.[name] ?? name.replaceAll("_", " ")} value={chosen.includes(name)} onChange={(on) => set(key, on ? [...chosen, name] : chosen.filter((other) => other !== name))} />
                </div>
              ))}
            </fieldset>
          );
        }
        if (one.type === "text") return <span key={key} title={one.help}><TextField label={label} placeholder={one.otherwise} value={String(value ?? "")} onChange={(text) => set(key, text || null)} /></span>;
        if (one.type === "texts") return <span key={key} title={one.help}><TextField label={`${label} (a, b, ...)`} placeholder={one.otherwise} value={Array.isArray(value) ? value.join(", ") : ""} onChange={(text) => set(key, text ? text.split(/[,\s]+/).filter(Boolean) : null)} /></span>;
        if (one.type === "numbers") return <span key={key} title={one.help}><TextField label={`${label}${one.unit && ` [${units(one.unit)}]`} (a, b, ...)`} placeholder={one.otherwise} value={Array.isArray(value) ? value.join(", ") : ""} onChange={(text) => set(key, text ? text.split(/[,\s]+/).filter(Boolean).map(Number) : null)} /></span>;
        if (one.type !== "number" && one.type !== "whole") return null;
        return (
          <span key={key} title={one.help}>
            <NumberField label={label} unit={units(one.unit) || undefined} placeholder={one.otherwise ?? "chosen"} min={one.low} max={one.high} step={one.type === "whole" ? 1 : undefined} value={typeof value === "number" ? value : null} onChange={(number) => set(key, number)} />
          </span>
        );
      })}
    </div>
  );
}

/** The options of a table of the campaign that a form can ask for; the others stay in the file. */
export function OptionFields({ table }: { table: TableName }) {
  const { campaign, change } = useCampaign();
  if (!campaign) return null;
  const values = ((campaign as unknown as Record<string, Table>)[table] ?? {}) as Table;
  return <Fields options={OPTIONS[table]} values={values} set={(key, value) => change({ [table]: { [key]: value } } as Changes)} />;
}

/** The settings of a job. */
export function JobFields<K extends JobKind>({ job, asked, onChange }: { job: K; asked: JobSettings[K]; onChange: (asked: JobSettings[K]) => void }) {
  return <Fields options={JOBS[job]} values={asked as Table} set={(key, value) => onChange({ ...asked, [key]: value })} />;
}
