import type { ReactNode } from "react";
import { useRef, useState } from "react";
import { cancelJob } from "../api";
import { useStudio } from "../studio";
import type { Job } from "../types";

export function Panel({ title, tools, children, id }: { title?: ReactNode; tools?: ReactNode; children: ReactNode; id?: string }) {
  return (
    <section className="panel" id={id}>
      {title && (
        <header className="panel-head">
          <h2>{title}</h2>
          {tools && <div className="tools">{tools}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Facts({ pairs }: { pairs: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="empty">{children}</p>;
}

/** Number as a person reads it: figures, no noise. */
export function shown(value: number | null | undefined, figures = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) {
    const [digits, power] = value.toExponential(figures - 1).split("e");
    return `${minus(digits)}e${minus(power.replace("+", ""))}`;
  }
  return minus(String(Number(value.toPrecision(figures))));
}

const minus = (text: string) => text.replace("-", "\u2212");

export function percent(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const part = 100 * value;
  if (part >= 1000) return "> 1000 %";
  return `${part >= 100 ? part.toFixed(0) : part >= 10 ? part.toFixed(1) : part >= 1 ? part.toFixed(2) : part > 0 ? part.toPrecision(2) : 0} %`;
}

export function bytes(size: number): string {
  return size < 1e3 ? `${size} B` : size < 1e6 ? `${(size / 1e3).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

export function duration(job: Job): string {
  const seconds = (job.ended ?? Date.now() / 1000) - job.started;
  return seconds < 60 ? `${seconds.toFixed(0)} s` : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

export function units(text: string): string {
  return text.replace(/(kg|m|s|rad)2\b/g, "$1\u00b2").replace(/N m/g, "N\u00a0m");
}

/** A job that runs, with its step, a bar and a way to end it; one that failed, with its sentence. */
export function JobLine({ job, what }: { job: Job | undefined; what: string }) {
  const { refresh, say } = useStudio();
  const [ending, setEnding] = useState(false);
  if (!job || job.state === "done") return null;
  if (job.state !== "running") {
    const kind = job.state === "failed" ? "bad" : "warn";
    return (
      <div className={`message ${kind}`} role="status">
        <b>{job.state === "failed" ? `${what} failed` : `${what} was ${job.state}`}</b>
        <span>{job.sentence}</span>
      </div>
    );
  }
  const numbers = Object.entries(job.numbers).map(([name, value]) => `${name} ${shown(value)}`);
  const end = async () => {
    setEnding(true);
    try {
      await cancelJob(job.name);
      await refresh();
    } catch (error) {
      say((error as Error).message);
    }
    setEnding(false);
  };
  return (
    <div className="progress" role="status" aria-label={what}>
      <div className="progress-words">
        <span>{job.step || "starting"}</span>
        <span className="soft">{numbers.join(" · ")}</span>
        <button type="button" className="plain" onClick={end} disabled={ending}>
          Cancel
        </button>
      </div>
      <progress max={1} value={job.part ?? undefined} aria-label={`${what}: ${job.step}`} />
    </div>
  );
}

export function DropZone({ label, hint, accept, multiple, onFiles }: {
  label: string;
  hint: string;
  accept: string;
  multiple?: boolean;
  onFiles: (files: File[]) => void;
}) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <div
      className={over ? "drop over" : "drop"}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        onFiles([...e.dataTransfer.files]);
      }}
    >
      <button type="button" onClick={() => input.current?.click()}>
        {label}
      </button>
      <span className="soft">{hint}</span>
      <input
        ref={input}
        type="file"
        aria-label={label}
        hidden
        accept={accept}
        multiple={multiple}
        onChange={(e) => {
          onFiles([...(e.target.files ?? [])]);
          e.target.value = "";
        }}
      />
    </div>
  );
}

export function NumberField({ label, value, unit, step, min, max, placeholder, onChange }: {
  label: string;
  value: number | null | undefined;
  unit?: string;
  step?: number | "any";
  min?: number;
  max?: number;
  placeholder?: string;
  onChange: (value: number | null) => void;
}) {
  return (
    <label className="field">
      <span>
        {label}
        {unit && <span className="soft"> [{unit}]</span>}
      </span>
      <input
        type="number"
        value={value ?? ""}
        step={step ?? "any"}
        min={min}
        max={max}
        placeholder={placeholder}
        onChange={(e) => onChange(e.target.value === "" ? null : Number(e.target.value))}
      />
    </label>
  );
}

export function SelectField({ label, value, options, onChange, names }: {
  label: string;
  value: string;
  options: string[];
  names?: Record<string, string>;
  onChange: (value: string) => void;
}) {
  return (
    <label className="field">
      <span>{label}</span>
      <select value={value} onChange={(e) => onChange(e.target.value)}>
        {!options.includes(value) && <option value={value}>{value || "choose"}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {names?.[option] ?? option}
          </option>
        ))}
      </select>
    </label>
  );
}

export function CheckField({ label, value, onChange }: { label: ReactNode; value: boolean; onChange: (value: boolean) => void }) {
  return (
    <label className="check">
      <input type="checkbox" checked={value} onChange={(e) => onChange(e.target.checked)} />
      <span>{label}</span>
    </label>
  );
}

export function Scroll({ label, tall, children }: { label: string; tall?: boolean; children: ReactNode }) {
  return (
    <div className={tall ? "scroll tall" : "scroll"} tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}
