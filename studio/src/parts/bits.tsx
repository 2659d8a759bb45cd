import type { ReactNode } from "react";
import { useEffect, useRef, useState } from "react";
import { cancelJob } from "../api";
import { useStudio } from "../studio";
import type { Job } from "../types";

export function Panel({ title, tools, children, id, className }: { title?: ReactNode; tools?: ReactNode; children: ReactNode; id?: string; className?: string }) {
  return (
    <section className={className ? `panel ${className}` : "panel"} id={id}>
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

const spoken = (seconds: number) => (seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`);
const FIRST_PART = 0.05; // of a job before it tells how long the rest takes

/** Seconds since a job began, and how many it will take at this pace. */
export function useElapsed(job: Job): string {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => window.clearInterval(timer);
  }, []);
  const elapsed = Math.max(0, now - job.started), { part } = job;
  return `${spoken(elapsed)}${part && part > FIRST_PART && part < 1 ? `, about ${spoken((elapsed * (1 - part)) / part)} left` : ""}`;
}

export function units(text: string): string {
  return text.replace(/(kg|m|s|rad)2\b/g, "$1\u00b2").replace(/s3\b/g, "s\u00b3").replace(/N m/g, "N\u00a0m");
}

/** Of units of "angles or lengths" those that some joints have. */
export function unitsOf(text: string, joints: { kind: string }[] | undefined): string {
  const [angle, length] = text.split(" or ");
  const slides = joints?.map(({ kind }) => kind === "prismatic") ?? [];
  return !slides.length || (slides.includes(true) && slides.includes(false)) ? text : slides[0] ? length : angle;
}

/** A job that runs, with its step, a bar and a way to end it; one that failed, with its sentence. */
export function JobLine({ job, what }: { job: Job | undefined; what: string }) {
  const { run, trouble } = useStudio();
  if (!job || job.state === "done") return null;
  if (job.state !== "running") {
    const kind = job.state === "failed" ? "bad" : "warn";
    return (
      <div className={`message ${kind}`} role="status">
        <b>{job.state === "failed" ? `${what} failed` : `${what} was ${job.state}`}</b>
        <span>{job.sentence}</span>
        {job.state === "interrupted" && (
          <button type="button" onClick={() => void run(job.kind, asked(job))}>
            Run again
          </button>
        )}
      </div>
    );
  }
  if (trouble)
    return (
      <div className="message warn" role="status">
        <b>{what}</b>
        <span>whether this still runs is not known while the studio does not answer</span>
      </div>
    );
  return <Running job={job} what={what} />;
}

/** A job that runs, with its time and a way to end it. */
function Running({ job, what }: { job: Job; what: string }) {
  const { refresh, say } = useStudio();
  const [ending, setEnding] = useState(false);
  const elapsed = useElapsed(job);
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
        <span className="soft">{[...numbers, elapsed].join(" · ")}</span>
        <button type="button" className="plain" onClick={end} disabled={ending}>
          Cancel
        </button>
      </div>
      <progress max={1} value={job.part ?? undefined} aria-label={`${what}: ${job.step}`} />
    </div>
  );
}

/** What a job was asked, for asking it again; the server adds the robot itself. */
function asked(job: Job): Record<string, unknown> {
  const { robot: _, ...settings } = job.settings;
  return settings;
}

/** Says of a result that it is of another robot, or was made before something changed. */
export function Stale({ job }: { job: Job | undefined }) {
  const { project } = useStudio();
  if (!job?.stale.length) return null;
  return (
    <div className="message warn" role="status">
      <b>Not current</b>
      <span>
        {job.name} was {job.stale.join("; ")}.{job.made_of.robot && job.made_of.robot.title !== project.robot?.title && ` The robot here is ${project.robot?.title ?? "not chosen"}.`} Run it again for what
        stands here now.
      </span>
    </div>
  );
}

/** All files of a result; one that is not current says so in its name and in the archive. */
export function Archive({ job, label }: { job: Job; label: string }) {
  const isOld = job.stale.length > 0;
  return (
    <a className={isOld ? "button old" : "button"} href={`/api/jobs/${job.name}/zip${isOld ? "?old=true" : ""}`} download>
      {label}
      {isOld && ` – not current: ${job.stale[0]}`}
    </a>
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

/** A number as people write it, with a point or a comma; undefined for what is none. */
export function numberOf(text: string): number | null | undefined {
  const plain = text.trim().replace("\u2212", "-");
  if (plain === "") return null;
  if (!/^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$/.test(plain)) return undefined;
  return Number(plain.replace(",", "."));
}

interface NumberAsked {
  value: number | null | undefined;
  step?: number | "any";
  min?: number;
  max?: number;
  placeholder?: string;
  onChange: (value: number | null) => void;
  onNumbers?: (values: number[]) => void; // several at once, pasted
}

/** Numbers of a text that was copied from a list, a row or a column; with a decimal comma between other separators. */
export function numbersOf(text: string): number[] | null {
  const parts = /[;\s]/.test(text.trim()) ? text.trim().replace(/,(?=\s)/g, " ").split(/[;\s]+/) : text.trim().split(",");
  const found = parts.map((part) => numberOf(part.replace(/^[[(]|[\])]$/g, "")));
  return found.length > 1 && found.every((value): value is number => typeof value === "number") ? found : null;
}

/** A field for a number with a decimal point or comma, whatever the browser's language; what is none is marked and not taken. */
export function NumberInput({ value, step, min, max, placeholder, onChange, onNumbers, ...named }: NumberAsked & { "aria-label"?: string }) {
  const [typed, setTyped] = useState<string | null>(null); // while it is being written
  const text = typed ?? (value ?? "").toString();
  const wrong = (number: number | null | undefined) => {
    if (number === undefined) return "write a number, such as 0.5 or 0,5";
    if (number === null) return null;
    if (step === 1 && !Number.isInteger(number)) return "write a whole number";
    if (min !== undefined && number < min) return `at least ${min}`;
    return max !== undefined && number > max ? `at most ${max}` : null;
  };
  const fault = typed === null ? null : wrong(numberOf(typed));
  return (
    <>
      <input
        {...named}
        type="text"
        inputMode="decimal"
        value={text}
        placeholder={placeholder}
        aria-invalid={!!fault}
        onChange={(e) => {
          const number = numberOf(e.target.value);
          setTyped(e.target.value);
          if (number !== undefined && !wrong(number)) onChange(number);
        }}
        onPaste={(e) => {
          const all = onNumbers && numbersOf(e.clipboardData.getData("text"));
          if (!all) return;
          e.preventDefault();
          setTyped(null);
          onNumbers(all);
        }}
        onBlur={() => setTyped((now) => (now !== null && wrong(numberOf(now)) ? now : null))}
      />
      {fault && <small className="fault">{fault}</small>}
    </>
  );
}

export function NumberField({ label, unit, ...asked }: NumberAsked & { label: string; unit?: string }) {
  return (
    <label className="field">
      <span>
        {label}
        {unit && <span className="soft"> [{unit}]</span>}
      </span>
      <NumberInput {...asked} />
    </label>
  );
}

export function SelectField({ label, value, options, onChange, names, open }: {
  label: string;
  open?: boolean; // an answer is needed
  value: string;
  options: string[];
  names?: Record<string, string>;
  onChange: (value: string) => void;
}) {
  return (
    <label className={open ? "field open" : "field"}>
      <span>
        {label}
        {open && <b className="question"> needs an answer</b>}
      </span>
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

/** A text, taken when the field is left or Enter is pressed. */
export function TextField({ label, value, placeholder, onChange }: { label: string; value: string; placeholder?: string; onChange: (text: string) => void }) {
  return (
    <label className="field">
      <span>{label}</span>
      <input type="text" key={value} defaultValue={value} placeholder={placeholder} onBlur={(e) => e.target.value !== value && onChange(e.target.value.trim())} onKeyDown={(e) => e.key === "Enter" && e.currentTarget.blur()} />
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

/** A part that scrolls; isStop: the Tab key comes to it, unless to something inside. */
export function Scroll({ label, tall, isStop = true, children }: { label: string; tall?: boolean; isStop?: boolean; children: ReactNode }) {
  return (
    <div className={tall ? "scroll tall" : "scroll"} tabIndex={isStop ? 0 : undefined} role="region" aria-label={label}>
      {children}
    </div>
  );
}

/** A button that asks once more before it does something that cannot be undone. */
export function SureButton({ label, sure, onClick }: { label: string; sure: string; onClick: () => void }) {
  const [asking, setAsking] = useState(false);
  return (
    <button
      type="button"
      className={asking ? "danger" : undefined}
      onClick={() => {
        if (asking) onClick();
        setAsking(!asking);
      }}
      onBlur={() => setAsking(false)}
    >
      {asking ? sure : label}
    </button>
  );
}

/** Tags as chips. */
export const Tags = ({ tags }: { tags?: string[] }) => (
  <>
    {tags?.map((tag) => (
      <span key={tag} className="tag">
        {tag}
      </span>
    ))}
  </>
);

/** Fields for a name and tags, and a way to be rid of the thing; used for runs and for logs. */
export function LabelForm({ what, title, own, tags, onSave, onDelete, danger }: {
  what: string;
  title: string;
  own: string;
  tags: string[];
  onSave: (title: string, tags: string[]) => void;
  onDelete: () => void;
  danger: [string, string];
}) {
  const [name, setName] = useState(title);
  const [words, setWords] = useState(tags.join(", "));
  return (
    <form
      className="label-form"
      onSubmit={(e) => {
        e.preventDefault();
        onSave(name.trim() === own ? "" : name.trim(), [...new Set(words.split(",").map((tag) => tag.trim()).filter(Boolean))]);
      }}
    >
      <input aria-label={`name of ${what}`} value={name} placeholder={own} maxLength={120} onChange={(e) => setName(e.target.value)} />
      <input aria-label={`tags of ${what}, separated by commas`} value={words} placeholder="tags, separated by commas" onChange={(e) => setWords(e.target.value)} />
      <button type="submit">Save</button>
      <SureButton label={danger[0]} sure={danger[1]} onClick={onDelete} />
    </form>
  );
}
