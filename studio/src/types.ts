import type { CampaignTables } from "./options";

/** What the server sends; the names are those of Python and of the command line. */

export interface ProjectFile { key: string; kind: "robot" | "log" | "model"; title: string; size: number; robot?: string; tags?: string[] }

export type JobState = "running" | "done" | "failed" | "cancelled" | "interrupted";

export interface Job {
  name: string;
  kind: string;
  settings: Record<string, unknown>;
  digest: string;
  state: JobState;
  started: number;
  ended: number | null;
  step: string;
  part: number | null;
  numbers: Record<string, number>;
  sentence: string;
  grade?: "good" | "usable" | "not good" | ""; // of its result; "" where nothing is judged
  made_of: { robot?: { title: string } };
  summary?: RunSummary | Record<string, never>; // of results of older versions nothing
  title?: string;
  tags?: string[];
  stale: string[]; // why its result is not that of the project as it stands
}

/** Figures of an identification; chosen: settings that the campaign left open. */
export interface RunSummary {
  robot: string;
  effects: string[];
  cutoff_hz: number | null;
  chosen: string[];
  estimator: string;
  training: number | null;
  validation: number | null;
  predicts: string;
  knows: string;
}

/** A bundled robot; strokes: two ends, x to the right and y up, and a width [m], the farthest first. */
export interface BundledRobot { name: string; title: string; joints: number; has_masses: boolean; strokes: number[][] }

export interface Chosen { bundled?: string; file?: string; title: string; version: string }

export interface Project {
  name: string;
  folder: string;
  version: string;
  robot: Chosen | null;
  bundled: string[];
  files: ProjectFile[];
  hidden: number; // logs that are not shown
  stores: { key: string; title: string }[];
  campaign: CampaignDocument | null;
  campaign_error: string | null;
  revision: string; // of the campaign and the robot, which a change must know
  pulse: string; // changes with whatever is shown of the folder
  log_endings: string[];
  check: string | null;
  jobs: Job[];
  choices: { estimators: string[]; effects: string[]; usual_effects: string[] };
  largest: number; // bytes of an upload
}

export type Names = string | string[] | undefined;
export type Table = Record<string, unknown>;

export type Effect = string | Table; // a word, or a table with its kind and numbers

export type CampaignDocument = { gravity?: number[]; logs?: { train?: string[]; validate?: string[] } } & Partial<Omit<CampaignTables, "logs">>;

/** What the page shows of a campaign, and can change: the tables of its file, with logs by their keys. */
export interface Campaign extends Omit<CampaignTables, "logs"> {
  train: string[];
  validate: string[];
  gravity: number[] | null;
}

/** Values to change: null takes one away, and what is not named stays as it is. */
export type Changes = Partial<Campaign>;

export interface Limits { lower: number | null; upper: number | null; velocity: number | null; acceleration: number | null; effort: number | null }

export interface JointData {
  number: number;
  name: string;
  kind: "revolute" | "prismatic" | string;
  parent: number | null;
  carried_by: string;
  link: string | null;
  position: string[];
  position_value: number[];
  rotation_value: number[][];
  limits: Limits;
  follows: { joints: string[]; ratios: number[]; offset: number } | null;
  passive: boolean | null;
  parameters: number[] | null;
}

export interface RobotData {
  robot: string;
  base: string;
  gravity: number[];
  coordinates: string[];
  moving_mass: number | null;
  missing_links: string[];
  joints: JointData[];
  loops: { name: string; kind: string; form: string }[];
  symbols: Record<string, number | null>;
}

export interface Point { joint: number | null; p: number[] }
export interface Capsule { joint: number | null; a: Point; b: Point; radius: number; by_frames: boolean }
export interface Body { joint: number | null; kind: string; size?: number[]; R?: number[][]; p?: number[]; points?: number[][] }
export interface Drawing {
  bodies: Body[];
  capsules: Capsule[];
  masses: ({ mass: number; centre: number[] } | null)[];
  frames: { name: string; joint: number | null; position: number[] }[];
  has_loops: boolean;
  start: number[];
}

export interface NoteData { level: string; where: string; text: string; line: number | null; joint: number | null }

export interface BaseParameter {
  name: string;
  text: string;
  latex: string;
  links: number[];
  columns: string[];
  unit: string;
  nominal: number | null;
  is_numeric: boolean;
}

export interface BaseView {
  error?: string;
  count: number;
  method: string;
  parameters: BaseParameter[];
  columns: string[];
  classes: Record<string, "alone" | "combination" | "none">;
  class_words: Record<string, string>;
  class_counts: Record<string, number>;
  certificate: string[];
}

export interface RobotView { robot: RobotData; drawing: Drawing; notes: NoteData[]; base: BaseView; unread?: string[] }

export interface FindingData { level: string; check: string; text: string; channel: string; row: number | null; log?: string }

export interface LogView {
  log: string;
  use: string;
  joints: string[];
  samples: number;
  seconds: number | null;
  rate_hz: number | null;
  effort_unit: string;
  notes: string[];
  findings: FindingData[];
  t: number[];
  signals: Record<string, (number | null)[][]>;
  cutoff_hz?: number | null;
  filtered?: Record<string, (number | null)[][]>; // q_filtered, effort_filtered
  off?: string[]; // checks that were not made, and why
  number?: number;
  has_detail?: boolean;
}

export interface CheckView { ok: boolean; errors: number; warnings: number; logs: LogView[]; joints: string[] }
export interface ProposeView { campaign: CampaignDocument; columns: Record<string, string[]>; questions: string[]; unread?: string[]; previews?: Record<string, Preview> }
/** First rows of a log as they are in the file; written: how a text file is written. */
export interface Preview { rows: string[][]; written: { delimiter: string; decimal: string; encoding: string } | null }

export interface ResidualsData { log?: string; relative: number; rmse: number; per_joint: { joint: string; relative: number | null; rmse: number }[]; remarks?: string[] }

export interface FitParameter {
  name: string;
  value: number;
  deviation: number | null;
  relative: number | null;
  interval: [number | null, number | null];
  class: string;
  relation: string;
  unit: string;
  nominal: number | null;
}

/** Lists are by joint, null for what is no number. */
export interface LogSamples {
  t?: number[]; // results of older versions have none
  q: ((number | null)[] | null)[];
  qd: ((number | null)[] | null)[];
  residual: (number | null)[][];
  friction: (number | null)[][] | null;
  model: (number | null)[][] | null;
}

export interface JudgedLog {
  log: string;
  is_fitted: boolean;
  units?: string[]; // of each output; results of older versions have one for all, and which joints slide
  unit?: string;
  slides?: boolean[];
  residual: ResidualsData;
  nominal_residual: ResidualsData | null;
  t: number[];
  curves: Record<string, (number | null)[][]>;
  samples?: LogSamples | null;
  over?: string; // what curves are drawn over, with its unit; time in results of older versions
  arrows?: ErrorArrows | null;
  spectrum?: { hz: number[]; word?: string; effort: (number | null)[][]; residual: (number | null)[][] } | null;
}

/** Errors of measured positions [m] in the base frame, at some postures. */
export interface ErrorArrows {
  q: number[][]; // of each posture
  numbers: number[]; // of each posture in the file, from 1
  posture: number[]; // of each arrow
  at: (number | null)[][];
  before: (number | null)[][];
  after: (number | null)[][];
}

export interface DrawnRobot { robot: RobotData; drawing: Drawing }

export interface Correlations { names: string[]; values: (number | null)[][] }

/** Results that were written before there were three grades have neither grade nor limits. */
export interface VerdictData {
  good: boolean;
  grade?: "good" | "usable" | "not good";
  limits?: { joint: string; what: string; figure: number }[];
  predicts?: string;
  knows?: string;
  reasons: string[];
}

/** What residuals are compared with: its word, how a relative residual is made, and what is drawn over time. */
export interface MeasureData { word: string; about: string; curves: string }

/** A part of a page that one kind of problem adds. */
export interface SectionData { title: string; sentences: string[]; headers: string[]; rows: (string | number)[][] }

export interface FitView {
  measure?: MeasureData; // what residuals are compared with; efforts in results of older versions
  sections?: SectionData[];
  result: {
    robot: string;
    estimator: string;
    count: number;
    condition: number | null;
    not_excited: string[];
    training: ResidualsData;
    validation: ResidualsData[];
    physical: Record<string, unknown>;
    verdict: VerdictData;
    effects?: string[];
  };
  parameters: FitParameter[];
  correlations?: Correlations;
  significance?: SignificanceView | null;
  joints: string[];
  logs: JudgedLog[];
  drawn?: DrawnRobot; // where errors are drawn on the robot
  findings: FindingData[];
  notes: string[];
  campaign: CampaignDocument | null;
  names: Record<string, string>;
}

export interface CurvePoint { count: number; training: number | null; left_out: number | null; multiplications?: number; additions?: number; dropped: string | null }

export interface Rule {
  rule: string;
  count: number;
  essential: { name: string; value: number; deviation: number }[];
  dropped: string[];
  condition_before: number | null;
  condition_after: number | null;
  relative_before: number;
  relative_after: number;
  contributions: Record<string, number[]>;
  curve: CurvePoint[];
}

export interface SignificanceView {
  robot: string;
  one_percent: Rule;
  elimination: Rule;
  joints: string[];
  units: Record<string, string>;
  is_unseen: boolean;
  logs: string[];
}

export interface MotionView {
  result: {
    condition: number | null;
    scaled_condition: number | null;
    duration: number;
    checked: string[];
    not_checked: string[];
    parameters: Record<string, { deviation: number | null; relative: number | null }>;
    margins: Record<string, unknown>;
    noise: number[];
    noise_basis: string;
  };
  headline: string;
  sentences: string[];
  joints: string[];
  units?: Record<string, string>; // of the base parameters
  t: number[];
  curves: Record<string, number[][]>;
  limits: { lower: (number | null)[]; upper: (number | null)[]; velocity: (number | null)[]; acceleration: (number | null)[] };
  postures: { t: number[]; q: number[][] };
  drawing: Drawing;
  robot: RobotData;
  floor: number | null;
  boxes: number[][][][];
  rooms: number[][][][];
}

export interface CodeView {
  robot: string;
  target: string;
  files: { name: string; bytes: number }[];
  counts: Record<string, Record<string, number>>;
  tested: string;
  notes: string[];
  effects: Record<string, number>;
  units?: Record<string, string>; // of the effects
  hash: string;
  live?: LiveModel | { why: string };
}

/** The generated inverse dynamics in the page, and states at which it is held against Python. */
export interface LiveModel {
  joints: { name: string; slides: boolean; lower: number | null; upper: number | null; velocity: number | null }[];
  states: Record<"q" | "qd" | "qdd" | "tau", number[][]>;
}

export interface RunCurves { title: string; unit: string; t: number[]; labels: string[]; values: (number | null)[][] }

export interface ControlRun {
  name: string;
  kind: "tracking" | "adaptive" | "guiding";
  sentence: string;
  t: number[];
  q: number[][];
  reference?: number[][];
  rms?: number[];
  largest?: number[];
  curves: RunCurves[];
}

export interface ControlView {
  arm: string;
  known: string;
  joints: string[];
  robot: RobotData;
  drawing: Drawing;
  runs: ControlRun[];
  skipped: string[];
}

export interface FleetAlarmData { robot: string; joint: string | null; what: string; by: string; began: string; chance: string; suggestion: string; cost: number | null }

export interface FleetStream {
  joint: string | null;
  is_alarm: boolean;
  days: number[];
  dates: string[];
  levels: { name: string; y: (number | null)[]; half: (number | null)[] }[];
  evidence: { days: number[]; e: (number | null)[] };
  events: { day: number; date: string; kind: string }[];
}

export interface FleetView {
  store: string;
  statement: string;
  first: string;
  last: string;
  days: number;
  shades: Record<string, string>;
  robots: { name: string; alarms: number; days: string[]; type: string; line: string; program: string }[];
  findings: { robot: string; text: string; joints: string[]; suggestion: string }[];
  alarms: FleetAlarmData[];
  lives: { alarm: string; state: string; first: string; last: string; by: string; reason: string; until: string }[];
  watch: FleetAlarmData[];
  not_judged: string[][];
  streams: Record<string, FleetStream[]>;
  faults: string[];
  notes: string[];
}
