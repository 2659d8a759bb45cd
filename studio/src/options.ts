// Made of the declarations in Python by `python -m tools.options`; not to be edited.

export interface LogsTable {
  stamps?: boolean | "?" | null;
  resample?: boolean | "?" | null;
  standstill?: boolean | "?" | null;
  train?: unknown | null;
  validate?: unknown | null;
  [key: string]: unknown;
}

export interface FilterTable {
  cutoff_hz?: number | "?" | null;
  order?: number | "?" | null;
  derivative?: "central" | "central5" | "parabola" | "savgol" | "logged" | "?" | null;
  window?: number | "?" | null;
  degree?: number | "?" | null;
  rate_hz?: number | "?" | null;
  parallel_hz?: number | "?" | null;
  on?: "equation" | "signals" | "?" | null;
  trim_s?: number | "?" | null;
  equations?: "torque" | "momentum" | "power" | "?" | null;
  band_hz?: number | "?" | null;
  parallel_trim_s?: number | "?" | null;
  [key: string]: unknown;
}

export interface ColumnsTable {
  t?: string | "?" | null;
  rate_hz?: number | "?" | null;
  time_unit?: "s" | "ms" | "us" | "ns" | "?" | null;
  q?: string | "?" | (string | "?")[] | null;
  qd?: string | "?" | (string | "?")[] | null;
  qdd?: string | "?" | (string | "?")[] | null;
  effort?: string | "?" | (string | "?")[] | null;
  temperature?: string | "?" | (string | "?")[] | null;
  command?: string | "?" | (string | "?")[] | null;
  command_velocity?: string | "?" | (string | "?")[] | null;
  command_when?: "before" | "after" | "?" | null;
  motor?: string | "?" | (string | "?")[] | null;
  volts?: string | "?" | (string | "?")[] | null;
  enabled?: string | "?" | (string | "?")[] | null;
  program?: string | "?" | null;
  load?: string | "?" | null;
  angle?: "rad" | "deg" | "mrad" | "?" | null;
  length?: "m" | "mm" | "cm" | "um" | "in" | "?" | null;
  effort_unit?: "Nm" | "A" | "V" | "permille" | "percent" | "?" | null;
  header?: (string | "?")[] | null;
  delimiter?: "," | ";" | "\t" | "|" | " " | "?" | null;
  decimal?: "." | "," | "?" | null;
  encoding?: "utf-8" | "windows-1252" | "utf-16" | "?" | null;
  topic?: string | "?" | null;
  command_topic?: string | "?" | null;
  wrench_topic?: string | "?" | null;
  pose_topic?: string | "?" | null;
  pose_frame?: string | "?" | null;
  episode?: number | "?" | null;
  drop_torn?: boolean | "?" | null;
  [key: string]: unknown;
}

export interface DriveTable {
  position?: "joint" | "motor" | "?" | null;
  effort?: "joint" | "motor" | "?" | null;
  ratios?: (number | "?")[] | null;
  coupling?: (number | "?")[][] | null;
  gains?: (number | "?")[] | null;
  gain_deviations?: (number | "?")[] | null;
  signs?: (number | "?")[] | null;
  effort_signs?: (number | "?")[] | null;
  offsets?: (number | "?")[] | null;
  delay?: number | "?" | null;
  [key: string]: unknown;
}

export interface ModelTable {
  effects?: unknown | null;
  memory?: boolean | "?" | null;
  fix?: Record<string, number | "?"> | null;
  parameters?: "base" | "mlc" | "?" | null;
  links?: "robot" | "physical" | "?" | null;
  prior?: unknown | null;
  [key: string]: unknown;
}

export interface EstimatorTable {
  name?: unknown | null;
  iterations?: number | "?" | null;
  threshold?: number | "?" | null;
  tolerance?: number | "?" | null;
  ratio?: number | "?" | null;
  bandwidth?: number | "?" | null;
  segments?: number | "?" | null;
  weight?: number | "?" | null;
  forgetting?: number | "?" | null;
  kind?: "euclidean" | "entropic" | "?" | null;
  margin?: number | "?" | null;
  [key: string]: unknown;
}

export interface EvaluationTable {
  cutoff_hz?: number | "?" | null;
  rate_hz?: number | "?" | null;
  trim_s?: number | "?" | null;
  log_unit?: boolean | "?" | null;
  [key: string]: unknown;
}

export interface CommandTable {
  law?: "p" | "pd" | "pid" | "voltage" | "servo" | "?" | null;
  kp?: number | "?" | "same" | (number | "?" | "same")[] | null;
  kd?: number | "?" | "same" | (number | "?" | "same")[] | null;
  ki?: number | "?" | "same" | (number | "?" | "same")[] | null;
  velocity_reference?: boolean | "?" | null;
  hold?: "zero" | "linear" | "?" | null;
  delay?: number | "?" | null;
  delay_of?: "command" | "effort" | "?" | null;
  limit?: number | "?" | (number | "?")[] | null;
  reference?: "gains" | "links" | "load" | "none" | "?" | null;
  method?: "output-error" | "didim" | "law" | "?" | null;
  integrator?: "midpoint" | "euler" | "?" | null;
  step?: number | "?" | null;
  zeros?: number | "?" | (number | "?")[] | null;
  loss?: "squares" | "huber" | "?" | null;
  error_gain?: number | "?" | null;
  register?: number | "?" | null;
  volts?: number | "?" | null;
  duty_limit?: number | "?" | null;
  target_speed?: number | "?" | (number | "?")[] | null;
  target_lapse?: number | "?" | (number | "?")[] | null;
  load_share?: number | "?" | (number | "?")[] | null;
  load_curve?: number | "?" | (number | "?")[] | null;
  startup_duty?: number | "?" | (number | "?")[] | null;
  warming?: number | "?" | (number | "?")[] | null;
  supply_sag?: number | "?" | (number | "?")[] | null;
  backlash?: number | "?" | (number | "?")[] | null;
  temperature?: number | "?" | null;
  leave_out_contact?: boolean | "?" | null;
  [key: string]: unknown;
}

export interface ElasticTable {
  joints?: (string | number | "?")[] | null;
  stiffness?: number | "?" | (number | "?")[] | null;
  damping?: number | "?" | (number | "?")[] | null;
  encoder?: "both" | "motor" | "link" | "?" | null;
  feedback?: "motor" | "link" | "?" | null;
  [key: string]: unknown;
}

export interface FloorTable {
  touches?: (string | "?")[] | null;
  height?: number | "?" | null;
  friction?: number | "?" | null;
  stiffness?: number | "?" | null;
  [key: string]: unknown;
}

export interface FloatingTable {
  rows?: "all" | "base" | "joints" | "projected" | "?" | null;
  gyro?: string | "?" | null;
  accelerometer?: string | "?" | null;
  at?: (number | "?")[] | null;
  attitude?: string | "?" | null;
  [key: string]: unknown;
}

export interface CalibrationTable {
  levels?: ("zeros" | "geometry" | "compliance" | "sag" | "transmission" | "?")[] | null;
  tip?: string | "?" | null;
  root?: string | "?" | null;
  zeros?: "file" | "controller" | "?" | null;
  [key: string]: unknown;
}

export interface WrenchTable {
  frame?: string | "?" | null;
  axes?: "sensor" | "base" | "?" | null;
  of?: "sensor" | "tool" | "?" | null;
  bias?: "auto" | "constant" | "steps" | "linear" | "walk" | "?" | null;
  moment?: "N m" | "N mm" | "N cm" | "?" | null;
  columns?: (string | "?")[] | null;
  rotation?: (string | "?")[] | null;
  rotation_as?: "xyzw" | "wxyz" | "rpy" | "vector" | "matrix" | "?" | null;
  motion?: "rest" | "moving" | "?" | null;
  [key: string]: unknown;
}

export interface CampaignTables {
  logs: LogsTable;
  filter: FilterTable;
  columns: ColumnsTable;
  drive: DriveTable;
  model: ModelTable;
  estimator: EstimatorTable;
  evaluation: EvaluationTable;
  command: CommandTable;
  elastic: ElasticTable;
  floor: FloorTable;
  floating: FloatingTable;
  calibration: CalibrationTable;
  wrench: WrenchTable;
}

export const OPTIONS = {
  "logs": {
    "stamps": {
      "help": "Drop samples whose time stamp repeats or decreases.",
      "unit": "",
      "type": "flag",
      "label": "drop repeated time stamps",
      "default": true
    },
    "resample": {
      "help": "Resample non-uniform time stamps to a uniform rate: positions by a cubic spline, other signals linearly.",
      "unit": "",
      "type": "flag",
      "label": "resample to a uniform rate",
      "default": true
    },
    "standstill": {
      "help": "Remove standstill at both ends, and short moves separate from the rest such as the approach to the first point.",
      "unit": "",
      "type": "flag",
      "label": "remove standstill",
      "default": true
    },
    "train": {
      "help": "Training logs: paths, recordings, motions or `Log` objects; a single log needs no list.",
      "unit": "",
      "type": "file",
      "default": []
    },
    "validate": {
      "help": "Validation logs, predicted but never fitted.",
      "unit": "",
      "type": "file",
      "default": []
    }
  },
  "filter": {
    "cutoff_hz": {
      "help": "Cut-off of the zero-phase Butterworth low-pass on positions and logged velocities.",
      "unit": "Hz",
      "type": "number",
      "label": "cut-off",
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "order": {
      "help": "Order of the Butterworth filter, which runs forwards and backwards.",
      "unit": "",
      "type": "whole",
      "label": "order of the filter",
      "low": 1,
      "high": 12,
      "default": 4
    },
    "derivative": {
      "help": "Differentiation.",
      "unit": "",
      "type": "choice",
      "choices": [
        "central",
        "central5",
        "parabola",
        "savgol",
        "logged"
      ],
      "default": "central"
    },
    "window": {
      "help": "Number of points of the Savitzky-Golay window; odd.",
      "unit": "",
      "type": "whole",
      "label": "points of the window",
      "low": 3,
      "high": 100001,
      "default": 9
    },
    "degree": {
      "help": "Degree of the Savitzky-Golay polynomial; below the number of points.",
      "unit": "",
      "type": "whole",
      "label": "degree of the polynomial",
      "low": 1,
      "high": 100,
      "default": 3
    },
    "rate_hz": {
      "help": "Rate after decimation.",
      "unit": "Hz",
      "type": "number",
      "label": "rate after decimation",
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "parallel_hz": {
      "help": "Cut-off of the parallel filter, which regressor and efforts both pass before decimation.",
      "unit": "Hz",
      "type": "number",
      "label": "parallel filter",
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "on": {
      "help": "Signals that are decimated.",
      "unit": "",
      "type": "choice",
      "label": "decimated",
      "choices": [
        "equation",
        "signals"
      ],
      "default": "equation"
    },
    "trim_s": {
      "help": "Time discarded at each end.",
      "unit": "s",
      "type": "number",
      "label": "left out at both ends",
      "low": 0.0,
      "default": null
    },
    "equations": {
      "help": "Rows of the linear problem: torque equations, or momentum or power equations, which need no accelerations.",
      "unit": "",
      "type": "choice",
      "choices": [
        "torque",
        "momentum",
        "power"
      ],
      "default": "torque"
    },
    "band_hz": {
      "help": "Frequency below which 99 % of the velocity's power of the fitted logs lies.",
      "unit": "Hz",
      "type": "number",
      "label": "band of the fitted motion",
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "parallel_trim_s": {
      "help": "Time that the parallel filter discards at each end.",
      "unit": "s",
      "type": "number",
      "label": "left out by the parallel filter",
      "low": 0.0,
      "default": null
    }
  },
  "columns": {
    "t": {
      "help": "Name of the time column.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "rate_hz": {
      "help": "Samples per second, for logs without a time column.",
      "unit": "Hz",
      "type": "number",
      "low": 0.01,
      "high": 10000000.0,
      "default": null
    },
    "time_unit": {
      "help": "Unit of the time column.",
      "unit": "",
      "type": "choice",
      "choices": [
        "s",
        "ms",
        "us",
        "ns"
      ],
      "default": "s"
    },
    "q": {
      "help": "Positions.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "qd": {
      "help": "Columns of velocities, optional; `\"\"` ignores logged ones.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "qdd": {
      "help": "Columns of accelerations, optional; `\"\"` ignores logged ones.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "effort": {
      "help": "Columns of measured torques, forces, currents or voltages.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "temperature": {
      "help": "Columns of joint temperatures [°C], for temperature-dependent friction; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "command": {
      "help": "Columns of commanded positions, for logs without efforts ([Robots without torque sensing](output-error.md)); optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "command_velocity": {
      "help": "Columns of commanded velocities; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "command_when": {
      "help": "Whether a row's positions were read before or after its command was sent.",
      "unit": "",
      "type": "choice",
      "choices": [
        "before",
        "after"
      ],
      "default": null
    },
    "motor": {
      "help": "Columns of motor positions of [elastic joints](elastic.md), a second encoder, divided by the drive's ratios if it has any; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "volts": {
      "help": "Columns of supply voltages of servos [V], or the one of all; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "enabled": {
      "help": "Columns that are 0 while the motor of a joint is switched off, else 1; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "program": {
      "help": "Column with the number of the running program; stored in records of [fleets](fleets.md).",
      "unit": "",
      "type": "text",
      "default": null
    },
    "load": {
      "help": "Column with the payload mass [kg]; stored in records of [fleets](fleets.md).",
      "unit": "",
      "type": "text",
      "default": null
    },
    "angle": {
      "help": "Unit of revolute positions and their rates.",
      "unit": "",
      "type": "choice",
      "label": "unit of angles",
      "choices": [
        "rad",
        "deg",
        "mrad"
      ],
      "default": null
    },
    "length": {
      "help": "Unit of prismatic positions and their rates, and of measured lengths.",
      "unit": "",
      "type": "choice",
      "label": "unit of lengths",
      "choices": [
        "m",
        "mm",
        "cm",
        "um",
        "in"
      ],
      "default": null
    },
    "effort_unit": {
      "help": "Unit of the efforts; `Nm` means N m, and N for prismatic joints.",
      "unit": "",
      "type": "choice",
      "choices": [
        "Nm",
        "A",
        "V",
        "permille",
        "percent"
      ],
      "default": null
    },
    "header": {
      "help": "Names of all columns, for files without a header line.",
      "unit": "",
      "type": "file",
      "default": []
    },
    "delimiter": {
      "help": "Column separator.",
      "unit": "",
      "type": "choice",
      "choices": [
        ",",
        ";",
        "\t",
        "|",
        " "
      ],
      "default": null
    },
    "decimal": {
      "help": "Decimal sign.",
      "unit": "",
      "type": "choice",
      "choices": [
        ".",
        ","
      ],
      "default": "."
    },
    "encoding": {
      "help": "Character encoding of text files.",
      "unit": "",
      "type": "choice",
      "choices": [
        "utf-8",
        "windows-1252",
        "utf-16"
      ],
      "default": "utf-8"
    },
    "topic": {
      "help": "Topic of a bag's joint states.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "command_topic": {
      "help": "Topic of a bag's commanded positions.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "wrench_topic": {
      "help": "Topic of a bag's wrenches.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "pose_topic": {
      "help": "Topic of a bag's measured poses: poses, points, transforms or tf.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "pose_frame": {
      "help": "Child frame of the measured poses in tf.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "episode": {
      "help": "Episode of a LeRobot table with several episodes, counted from 0.",
      "unit": "",
      "type": "whole",
      "low": 0,
      "default": null
    },
    "drop_torn": {
      "help": "Drop and count malformed rows of logs: rows with too few or too many values, or values that are not numbers.",
      "unit": "",
      "type": "flag",
      "default": false
    }
  },
  "drive": {
    "position": {
      "help": "Side of the transmission on which positions are logged.",
      "unit": "",
      "type": "choice",
      "choices": [
        "joint",
        "motor"
      ],
      "default": null
    },
    "effort": {
      "help": "Side on which efforts are logged.",
      "unit": "",
      "type": "choice",
      "choices": [
        "joint",
        "motor"
      ],
      "default": null
    },
    "ratios": {
      "help": "Motor turns per joint turn, one per coordinate; may be negative.",
      "unit": "",
      "type": "file",
      "low": 1e-06,
      "high": 1000000000.0,
      "default": null
    },
    "coupling": {
      "help": "Coupling matrix G, instead of `ratios`: motor positions = G q and joint efforts = G' motor efforts.",
      "unit": "",
      "type": "file",
      "low": 1e-09,
      "high": 1000000000.0,
      "default": null
    },
    "gains": {
      "help": "Drive gain K: effort per logged unit, on the side on which it is logged, one per coordinate.",
      "unit": "N m or N per unit",
      "type": "file",
      "low": 1e-09,
      "high": 1000000000.0,
      "default": null
    },
    "gain_deviations": {
      "help": "Standard deviation of the gains, in their unit; it is included in the standard deviations of a [payload](howto/payload.md).",
      "unit": "",
      "type": "file",
      "low": 1e-12,
      "high": 1000000000.0,
      "default": null
    },
    "signs": {
      "help": "Sign S, 1 or -1: -1 reverses a joint's position and effort.",
      "unit": "",
      "type": "file",
      "low": 1,
      "high": 1,
      "default": null
    },
    "effort_signs": {
      "help": "Sign S_e, 1 or -1: -1 reverses a joint's effort only.",
      "unit": "",
      "type": "file",
      "low": 1,
      "high": 1,
      "default": null
    },
    "offsets": {
      "help": "Offset added to the joint positions after all other conversions; `offsets_deg` is the same in degrees.",
      "unit": "rad or m",
      "type": "file",
      "low": 0,
      "high": 1000000.0,
      "default": null
    },
    "delay": {
      "help": "Time by which the effort lags the position (`minertia check LOG` estimates it, too).",
      "unit": "s",
      "type": "number",
      "low": -1000000.0,
      "high": 1000000.0,
      "default": null
    }
  },
  "model": {
    "effects": {
      "help": "Joint effects besides the inertia of the links, by word or symbol (FC, on one joint FC3), or none.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "memory": {
      "help": "Whether friction with a memory of the path (presliding) is among the candidates when effects are chosen.",
      "unit": "",
      "type": "flag",
      "default": false
    },
    "fix": {
      "help": "Known parameters that are not fitted, by their full names.",
      "unit": "",
      "type": "file"
    },
    "parameters": {
      "help": "Set of parameters that is fitted: base parameters, or minimal linear combinations of composite bodies (mlc).",
      "unit": "",
      "type": "choice",
      "choices": [
        "base",
        "mlc"
      ],
      "default": "base"
    },
    "links": {
      "help": "For logs of commands: link inertial parameters of the robot file, or fitted physically consistent ones.",
      "unit": "",
      "type": "choice",
      "choices": [
        "robot",
        "physical"
      ],
      "default": "robot"
    },
    "prior": {
      "help": "Prior values towards which ridge and physical are regularised: those of the robot file (robot), or of another robot or model file.",
      "unit": "",
      "type": "file",
      "default": null
    }
  },
  "estimator": {
    "name": {
      "help": "Estimator.",
      "unit": "",
      "type": "file",
      "default": "auto"
    },
    "iterations": {
      "help": "Maximum number of reweighting iterations.",
      "unit": "",
      "type": "whole",
      "low": 1,
      "high": 10000,
      "default": 30
    },
    "threshold": {
      "help": "Huber threshold in units of the residual scale; 1.345 is 95 % efficient on clean data.",
      "unit": "",
      "type": "number",
      "low": 0.1,
      "high": 1000000.0,
      "default": 1.345
    },
    "tolerance": {
      "help": "Convergence tolerance on the step, in standard deviations.",
      "unit": "",
      "type": "number",
      "low": 1e-12,
      "high": 1,
      "default": 0.0001
    },
    "ratio": {
      "help": "Ratio of the relative noise of the regressor columns to that of the efforts; 1 is classical total least squares, 0 is least squares.",
      "unit": "",
      "type": "number",
      "low": 1e-06,
      "high": 1000000.0,
      "default": 0.1
    },
    "bandwidth": {
      "help": "Bandwidth of the tracking controller of the simulation.",
      "unit": "rad/s",
      "type": "number",
      "low": 0.1,
      "high": 10000.0,
      "default": 20.0
    },
    "segments": {
      "help": "Number of segments of a recording that are simulated in parallel, each from its measured state.",
      "unit": "",
      "type": "whole",
      "low": 1,
      "high": 1000000,
      "default": 32
    },
    "weight": {
      "help": "Weight of the prior; 1 counts as much as all data.",
      "unit": "",
      "type": "number",
      "low": 1e-20,
      "high": 1e+20,
      "default": null
    },
    "forgetting": {
      "help": "Forgetting factor per sample.",
      "unit": "",
      "type": "number",
      "low": 0.5,
      "high": 1,
      "default": 1.0
    },
    "kind": {
      "help": "Distance measure to the prior.",
      "unit": "",
      "type": "choice",
      "choices": [
        "euclidean",
        "entropic"
      ],
      "default": "euclidean"
    },
    "margin": {
      "help": "Smallest eigenvalue of a pseudo-inertia, relative to its trace.",
      "unit": "",
      "type": "number",
      "low": 1e-12,
      "high": 0.1,
      "default": 1e-07
    }
  },
  "evaluation": {
    "cutoff_hz": {
      "help": "Cut-off of the zero-phase 4th-order Butterworth on predicted and measured efforts.",
      "unit": "Hz",
      "type": "number",
      "label": "cut-off",
      "low": 0.001,
      "high": 10000000.0
    },
    "rate_hz": {
      "help": "Rate at which efforts are compared; requires `cutoff_hz`.",
      "unit": "Hz",
      "type": "number",
      "label": "rate",
      "low": 0.001,
      "high": 10000000.0
    },
    "trim_s": {
      "help": "Time excluded at both ends of a log.",
      "unit": "s",
      "type": "number",
      "label": "left out at both ends",
      "low": 0.0,
      "default": 0.0
    },
    "log_unit": {
      "help": "Evaluate residuals in the unit and on the side of the log (motor currents) instead of joint efforts.",
      "unit": "",
      "type": "flag",
      "label": "in the unit of the log",
      "default": false
    }
  },
  "command": {
    "law": {
      "help": "Control law of the position servos.",
      "unit": "",
      "type": "choice",
      "choices": [
        "p",
        "pd",
        "pid",
        "voltage",
        "servo"
      ],
      "default": "pd"
    },
    "kp": {
      "help": "Proportional gain.",
      "unit": "N m/rad or N/m",
      "type": "file",
      "low": 0,
      "high": 1000000000000.0,
      "default": "?"
    },
    "kd": {
      "help": "Derivative gain.",
      "unit": "N m s/rad or N s/m",
      "type": "file",
      "low": 0,
      "high": 1000000000000.0,
      "default": "?"
    },
    "ki": {
      "help": "Integral gain.",
      "unit": "N m/(rad s) or N/(m s)",
      "type": "file",
      "low": 0,
      "high": 1000000000000.0,
      "default": 0.0
    },
    "velocity_reference": {
      "help": "Damping acts on the velocity error: commanded less measured velocity.",
      "unit": "",
      "type": "flag",
      "default": false
    },
    "hold": {
      "help": "Interpolation of the command between rows: held, or linear.",
      "unit": "",
      "type": "choice",
      "choices": [
        "zero",
        "linear"
      ],
      "default": "zero"
    },
    "delay": {
      "help": "Delay.",
      "unit": "s",
      "type": "number",
      "low": -1.0,
      "high": 1.0,
      "default": "?"
    },
    "delay_of": {
      "help": "Signal that is delayed: the `command` if the servo closes its own loop, the whole `effort` if a host computer closes it over a bus.",
      "unit": "",
      "type": "choice",
      "choices": [
        "command",
        "effort"
      ],
      "default": "command"
    },
    "limit": {
      "help": "Effort limit, one number or one per joint.",
      "unit": "N m or N",
      "type": "file",
      "low": 0,
      "high": 1000000000000.0,
      "default": null
    },
    "reference": {
      "help": "Reference that fixes the scale.",
      "unit": "",
      "type": "choice",
      "choices": [
        "gains",
        "links",
        "load",
        "none"
      ],
      "default": null
    },
    "method": {
      "help": "Method of the fit.",
      "unit": "",
      "type": "choice",
      "choices": [
        "output-error",
        "didim",
        "law"
      ],
      "default": "output-error"
    },
    "integrator": {
      "help": "Integrator of the simulated motion.",
      "unit": "",
      "type": "choice",
      "choices": [
        "midpoint",
        "euler"
      ],
      "default": "midpoint"
    },
    "step": {
      "help": "Time step of the simulator, for the integrator euler.",
      "unit": "s",
      "type": "number",
      "low": 1e-05,
      "high": 0.02,
      "default": null
    },
    "zeros": {
      "help": "Joint offsets, added to logged positions to get those of the robot file (q + zeros).",
      "unit": "rad or m",
      "type": "file",
      "low": -1000000000000.0,
      "high": 1000000000000.0,
      "default": 0.0
    },
    "loss": {
      "help": "Loss of the simulated positions: squares, or Huber's, with which large residuals count less (a fall whose end is nearly chance).",
      "unit": "",
      "type": "choice",
      "choices": [
        "squares",
        "huber"
      ],
      "default": "squares"
    },
    "error_gain": {
      "help": "Law `\"servo\"`: duty cycle of a position error of 1 for a register of 1.",
      "unit": "1/rad or 1/m",
      "type": "number",
      "low": 0,
      "high": 1000000000000.0,
      "default": null
    },
    "register": {
      "help": "Law `\"servo\"`: proportional gain in the firmware; a log can have its own.",
      "unit": "",
      "type": "number",
      "low": 0,
      "high": 1000000000000.0,
      "default": null
    },
    "volts": {
      "help": "Law `\"servo\"`: supply voltage of logs without a column of it; a log can have its own.",
      "unit": "V",
      "type": "number",
      "low": 0,
      "high": 1000000000000.0,
      "default": null
    },
    "duty_limit": {
      "help": "Law `\"servo\"`: largest duty cycle.",
      "unit": "",
      "type": "number",
      "low": 0,
      "high": 1,
      "default": 1.0
    },
    "target_speed": {
      "help": "Law `\"servo\"`: speed at which the target follows the command, `\"?\"` if unknown.",
      "unit": "rad/s or m/s",
      "type": "file",
      "low": 0,
      "high": 1000000000000.0,
      "default": null
    },
    "target_lapse": {
      "help": "Law `\"servo\"`: part of this speed that the target loses while its command changes, `\"?\"` if unknown.",
      "unit": "",
      "type": "file",
      "low": 0,
      "high": 0.9,
      "default": 0.0
    },
    "load_share": {
      "help": "Law `\"servo\"`: part of the motor's effort in the load of the gear that friction depends on, the rest is the static effort of the links; `\"?\"` if both sides differ.",
      "unit": "",
      "type": "file",
      "low": 0,
      "high": 1,
      "default": 0.5
    },
    "load_curve": {
      "help": "Law `\"servo\"`: friction depends on L (1 + load_curve abs(L)) in place of a load L, `\"?\"` if unknown.",
      "unit": "1/(N m) or 1/N",
      "type": "file",
      "low": 0,
      "high": 100,
      "default": 0.0
    },
    "startup_duty": {
      "help": "Law `\"servo\"`: duty cycle that the firmware adds to any position error to start the motor, `\"?\"` if unknown.",
      "unit": "",
      "type": "file",
      "low": 0,
      "high": 1,
      "default": 0.0
    },
    "warming": {
      "help": "Law `\"servo\"`: relative change of the motor's effort with its temperature, from 25 °C on, `\"?\"` if unknown.",
      "unit": "1/K",
      "type": "file",
      "low": -0.1,
      "high": 0.1,
      "default": 0.0
    },
    "supply_sag": {
      "help": "Law `\"servo\"`: drop of the supply by the motor's effort times the duty cycle, `\"?\"` if unknown; unless 0, the highest logged voltages are those without load.",
      "unit": "V/(N m) or V/N",
      "type": "file",
      "low": 0,
      "high": 100,
      "default": 0.0
    },
    "backlash": {
      "help": "Law `\"servo\"`: play between the gear and the measured shaft, which stays while the gear crosses it, `\"?\"` if unknown.",
      "unit": "rad or m",
      "type": "file",
      "low": 0,
      "high": 1,
      "default": 0.0
    },
    "temperature": {
      "help": "Law `\"servo\"`: temperature of motors in logs that do not contain it.",
      "unit": "°C",
      "type": "number",
      "low": -100,
      "high": 300,
      "default": 25.0
    },
    "leave_out_contact": {
      "help": "Exclude segments with unmodelled contact from the fit ([below](#where-the-robot-is-pushed)).",
      "unit": "",
      "type": "flag",
      "default": true
    }
  },
  "elastic": {
    "joints": {
      "help": "Elastic joints: names, or numbers starting at 1.",
      "unit": "",
      "type": "file",
      "low": 1,
      "default": []
    },
    "stiffness": {
      "help": "Initial value of the stiffness on the link side: one number or one per elastic joint, or `\"?\"`.",
      "unit": "N m/rad or N/m",
      "type": "file",
      "low": 1.0,
      "high": 1000000000.0,
      "default": null
    },
    "damping": {
      "help": "Initial value of the damping on the link side: one number or one per elastic joint, or `\"?\"`.",
      "unit": "N m s/rad or N s/m",
      "type": "file",
      "low": 0,
      "high": 1000000000.0,
      "default": null
    },
    "encoder": {
      "help": "Side on which positions were measured.",
      "unit": "",
      "type": "choice",
      "choices": [
        "both",
        "motor",
        "link"
      ],
      "default": null
    },
    "feedback": {
      "help": "Side that the position servos measure.",
      "unit": "",
      "type": "choice",
      "choices": [
        "motor",
        "link"
      ],
      "default": "motor"
    }
  },
  "floor": {
    "touches": {
      "help": "Links or frames of the robot file whose origins can touch the ground.",
      "unit": "",
      "type": "file",
      "default": []
    },
    "height": {
      "help": "Height of the ground above the base's origin, along the direction opposite to gravity.",
      "unit": "m",
      "type": "number",
      "low": -100.0,
      "high": 100.0,
      "default": "?"
    },
    "friction": {
      "help": "Coefficient of friction.",
      "unit": "",
      "type": "number",
      "low": 0.0,
      "high": 5.0,
      "default": 0.0
    },
    "stiffness": {
      "help": "Contact stiffness of the ground and the bodies that touch it.",
      "unit": "N/m",
      "type": "number",
      "low": 100.0,
      "high": 10000000.0,
      "default": 10000.0
    }
  },
  "floating": {
    "rows": {
      "help": "Equations: all, those of the base or the joints only, or all with contact forces projected out.",
      "unit": "",
      "type": "choice",
      "choices": [
        "all",
        "base",
        "joints",
        "projected"
      ],
      "default": null
    },
    "gyro": {
      "help": "Columns of the angular velocity in base axes [rad/s].",
      "unit": "",
      "type": "text",
      "default": "gyro_{k}"
    },
    "accelerometer": {
      "help": "Columns of the specific force, acceleration less gravity [m/s^2].",
      "unit": "",
      "type": "text",
      "default": "accel_{k}"
    },
    "at": {
      "help": "Position of the accelerometer in the base.",
      "unit": "m",
      "type": "file",
      "default": [
        0.0,
        0.0,
        0.0
      ]
    },
    "attitude": {
      "help": "Columns of the base's quaternion in the world.",
      "unit": "",
      "type": "text",
      "default": "base_q{k}"
    }
  },
  "calibration": {
    "levels": {
      "help": "Groups of corrections to fit, in this order.",
      "unit": "",
      "type": "file",
      "label": "corrections",
      "choices": [
        "zeros",
        "geometry",
        "compliance",
        "sag",
        "transmission"
      ],
      "default": null
    },
    "tip": {
      "help": "Link or frame that carries the target.",
      "unit": "",
      "type": "text",
      "label": "target carried by",
      "default": null
    },
    "root": {
      "help": "Link or frame where the kinematic chain begins.",
      "unit": "",
      "type": "text",
      "label": "chain begins at",
      "default": null
    },
    "zeros": {
      "help": "Where joint offsets are written: into the robot's frames, or into a table for its controller.",
      "unit": "",
      "type": "choice",
      "label": "joint offsets go into",
      "choices": [
        "file",
        "controller"
      ],
      "default": "file"
    }
  },
  "wrench": {
    "frame": {
      "help": "Link or frame to which the sensor is attached, placed by the joint positions of the file.",
      "unit": "",
      "type": "text",
      "label": "sensor attached to",
      "default": null
    },
    "axes": {
      "help": "Axes of the wrench.",
      "unit": "",
      "type": "choice",
      "label": "axes of the wrench",
      "choices": [
        "sensor",
        "base"
      ],
      "default": null
    },
    "of": {
      "help": "Body on which the wrench acts: `sensor` (the tool's weight, down) or `tool` (the robot's reaction, up).",
      "unit": "",
      "type": "choice",
      "label": "wrench acts on",
      "choices": [
        "sensor",
        "tool"
      ],
      "default": null
    },
    "bias": {
      "help": "Sensor bias over the poses: constant, in steps where a column `tare` changes, linear in their order, or a random walk.",
      "unit": "",
      "type": "choice",
      "label": "bias of the sensor",
      "choices": [
        "auto",
        "constant",
        "steps",
        "linear",
        "walk"
      ],
      "default": "auto"
    },
    "moment": {
      "help": "Unit of the moments.",
      "unit": "",
      "type": "choice",
      "label": "unit of moments",
      "choices": [
        "N m",
        "N mm",
        "N cm"
      ],
      "default": "N m"
    },
    "columns": {
      "help": "Columns of force and moment.",
      "unit": "",
      "type": "file",
      "label": "columns of force and moment",
      "default": null
    },
    "rotation": {
      "help": "Columns of the sensor's orientation in the base.",
      "unit": "",
      "type": "file",
      "label": "columns of the orientation",
      "default": []
    },
    "rotation_as": {
      "help": "Representation of the orientation.",
      "unit": "",
      "type": "choice",
      "label": "orientation given as",
      "choices": [
        "xyzw",
        "wxyz",
        "rpy",
        "vector",
        "matrix"
      ],
      "default": "xyzw"
    },
    "motion": {
      "help": "Whether rows are poses at rest, or samples of a motion whose derivatives are computed.",
      "unit": "",
      "type": "choice",
      "label": "rows are",
      "choices": [
        "rest",
        "moving"
      ],
      "default": null
    }
  }
} as const;

export interface RobotSettings {
  rotors?: boolean | null;
  friction?: boolean | null;
  robot?: string | null;
}

export interface ProposeSettings {
  logs?: (string)[] | null;
}

export interface CheckSettings {
}

export interface IdentifySettings {
}

export interface ValidateSettings {
  model?: string | null;
  logs?: (string)[] | null;
}

export interface CalibrateSettings {
  measurements?: (string)[] | null;
  validate?: (string)[] | null;
  angle?: "rad" | "deg" | "mrad" | null;
  length?: "m" | "mm" | "cm" | "um" | "in" | null;
  measure?: { kind?: "point" | "pose" | "orientation" | "direction" | "pixel" | "pixel_tool" | "distance" | "distance_between" | "same_point" | "plane" | null; name?: string | null; at?: (string)[] | null; rotation?: (string)[] | null; rotation_as?: "xyzw" | "wxyz" | "rpy" | "vector" | "matrix" | null; groups?: (string)[] | null; of?: string | null; within?: (string)[] | null; length?: number | null; camera?: (number)[] | null }[] | null;
  levels?: ("zeros" | "geometry" | "compliance" | "sag" | "transmission")[] | null;
  tip?: string | null;
  root?: string | null;
  zeros?: "file" | "controller" | null;
}

export interface WrenchSettings {
  measurements?: (string)[] | null;
  validate?: (string)[] | null;
  angle?: "rad" | "deg" | "mrad" | null;
  frame?: string | null;
  axes?: "sensor" | "base" | null;
  of?: "sensor" | "tool" | null;
  bias?: "auto" | "constant" | "steps" | "linear" | "walk" | null;
  moment?: "N m" | "N mm" | "N cm" | null;
  columns?: (string)[] | null;
  rotation?: (string)[] | null;
  rotation_as?: "xyzw" | "wxyz" | "rpy" | "vector" | "matrix" | null;
  motion?: "rest" | "moving" | null;
}

export interface ExciteSettings {
  family?: "fourier" | "spline" | null;
  duration?: number | null;
  harmonics?: number | null;
  pieces?: number | null;
  start?: number | "any" | (number | "any")[] | null;
  criterion?: "condition" | "scaled-condition" | "logdet" | "deviation" | null;
  rotors?: boolean | null;
  friction?: boolean | null;
  noise?: number | (number)[] | null;
  starts?: number | null;
  seed?: number | null;
  samples?: number | null;
  patience?: number | null;
  from?: (number)[] | null;
  limits?: { position?: number | (number)[] | (number)[][] | null; velocity?: number | (number)[] | null; acceleration?: number | (number)[] | null; jerk?: number | (number)[] | null; effort?: boolean | number | (boolean | number)[] | null; effort_margin?: number | null; floor?: boolean | number | "base" | null; table?: { height?: number | null } | null; self_collision?: boolean | null; margin?: number | null; radius?: number | null; transmission_deg?: number | null; box?: { frame?: (string)[] | null; lower?: (number)[] | null; upper?: (number)[] | null }[] | null; obstacle?: { centre?: (number)[] | null; size?: (number)[] | null; name?: string | null }[] | null; foot?: { frame?: string | null; at?: (number)[] | null; size?: (number)[] | null; radius?: number | null; friction?: number | null; lifted?: boolean | null }[] | null; contact_margin?: number | null; format?: number | null; made_for?: unknown | null } | null;
}

export interface GenerateSettings {
  model?: string | null;
  programs?: ("inverse_dynamics" | "background" | "background_parts" | "synchronous" | "coefficients" | "gravity" | "mass_matrix" | "velocity_torque" | "friction" | "base_regressor" | "base_regressor_entries" | "forward_dynamics" | "recursive_update" | "inverse_dynamics_wrench" | "forward_dynamics_wrench" | "jacobian" | "forward_kinematics" | "coriolis_matrix" | "slotine_li" | "slotine_li_regressor" | "inverse_dynamics_derivatives" | "forward_dynamics_derivatives" | "momentum_observer" | "momentum_regressor" | "power_regressor" | "differentiator" | "parabola_differentiator" | "low_pass" | "watch_terms" | "adaptive_start" | "adaptive_law" | "elastic_forward_dynamics" | "elastic_inverse_dynamics" | "correct_joints" | "command_joints" | "calibrated_forward_kinematics" | "calibrated_jacobian")[] | null;
  target?: "c" | "cortex-m" | "cuda" | "numpy" | "jax" | "torch" | "matlab" | "fmu" | "ros2" | null;
  precision?: "double" | "float" | null;
  sincos?: "libm" | "own" | null;
}

export interface RehearseSettings {
  noise?: number | null;
  rate?: number | null;
  duration?: number | null;
  harmonics?: number | null;
  starts?: number | null;
  resolution?: number | null;
  cutoff?: number | null;
  seed?: number | null;
  delay?: number | null;
  stribeck?: number | null;
  load?: number | null;
  show?: ("adaptive" | "collision" | "guiding")[] | null;
  watch?: number | null;
}

export interface ControlSettings {
  arm?: string | null;
  known?: string | null;
  seconds?: number | null;
  seed?: number | null;
  shows?: ("adaptive" | "guiding")[] | null;
}

export interface FleetSettings {
  store?: string | null;
  q?: number | null;
  horizon?: number | null;
  learning?: number | null;
  today?: number | null;
}

export interface JobSettings {
  robot: RobotSettings;
  propose: ProposeSettings;
  check: CheckSettings;
  identify: IdentifySettings;
  validate: ValidateSettings;
  calibrate: CalibrateSettings;
  wrench: WrenchSettings;
  excite: ExciteSettings;
  generate: GenerateSettings;
  rehearse: RehearseSettings;
  control: ControlSettings;
  fleet: FleetSettings;
}

export const JOBS = {
  "robot": {
    "rotors": {
      "help": "Rotor inertias.",
      "unit": "",
      "type": "flag",
      "default": true
    },
    "friction": {
      "help": "Friction and offsets.",
      "unit": "",
      "type": "flag",
      "default": false
    },
    "robot": {
      "help": "Version of the robot file that was read.",
      "unit": "",
      "type": "text",
      "default": ""
    }
  },
  "propose": {
    "logs": {
      "help": "Logs to read, by their keys in the project.",
      "unit": "",
      "type": "key",
      "otherwise": "all",
      "default": []
    }
  },
  "check": {},
  "identify": {},
  "validate": {
    "model": {
      "help": "Identified model, by its key in the project.",
      "unit": "",
      "type": "key"
    },
    "logs": {
      "help": "Validation logs, by their keys in the project.",
      "unit": "",
      "type": "key"
    }
  },
  "calibrate": {
    "measurements": {
      "help": "Measurement files to fit, by their keys in the project.",
      "unit": "",
      "type": "key"
    },
    "validate": {
      "help": "Validation measurements, by their keys in the project.",
      "unit": "",
      "type": "key",
      "otherwise": "none: held-out regions",
      "default": []
    },
    "angle": {
      "help": "Unit of revolute positions and their rates.",
      "unit": "",
      "type": "choice",
      "label": "unit of angles",
      "choices": [
        "rad",
        "deg",
        "mrad"
      ],
      "otherwise": "rad",
      "default": null
    },
    "length": {
      "help": "Unit of prismatic positions and their rates, and of measured lengths.",
      "unit": "",
      "type": "choice",
      "label": "unit of lengths",
      "choices": [
        "m",
        "mm",
        "cm",
        "um",
        "in"
      ],
      "otherwise": "must be given",
      "default": null
    },
    "measure": {
      "help": "Measurements of the tool and their columns.",
      "unit": "",
      "type": "file",
      "otherwise": "recognised by the header",
      "options": {
        "kind": {
          "help": "Kind of measurement.",
          "unit": "",
          "type": "choice",
          "choices": [
            "point",
            "pose",
            "orientation",
            "direction",
            "pixel",
            "pixel_tool",
            "distance",
            "distance_between",
            "same_point",
            "plane"
          ]
        },
        "name": {
          "help": "Name of the target in the results.",
          "unit": "",
          "type": "text",
          "otherwise": "its number",
          "default": ""
        },
        "at": {
          "help": "Columns of the measured point, direction, pixel or distance.",
          "unit": "",
          "type": "texts",
          "label": "columns of the measurement",
          "default": []
        },
        "rotation": {
          "help": "Columns of the rotation.",
          "unit": "",
          "type": "texts",
          "label": "columns of the rotation",
          "default": []
        },
        "rotation_as": {
          "help": "Representation of the rotation.",
          "unit": "",
          "type": "choice",
          "label": "rotation given as",
          "choices": [
            "xyzw",
            "wxyz",
            "rpy",
            "vector",
            "matrix"
          ],
          "default": "xyzw"
        },
        "groups": {
          "help": "Columns that group rows: equal entries mean the same point, plane or mark.",
          "unit": "",
          "type": "texts",
          "label": "columns of groups",
          "default": []
        },
        "of": {
          "help": "Column that distinguishes two points whose distance is known.",
          "unit": "",
          "type": "text",
          "label": "column of the point",
          "default": null
        },
        "within": {
          "help": "Columns whose entries are equal for the two points of a pair.",
          "unit": "",
          "type": "texts",
          "label": "columns of a pair",
          "default": []
        },
        "length": {
          "help": "Distance between the two points.",
          "unit": "m",
          "type": "number",
          "default": null
        },
        "camera": {
          "help": "Camera intrinsics: focal lengths and principal point fx, fy, cx, cy.",
          "unit": "pixels",
          "type": "numbers",
          "label": "camera intrinsics",
          "default": null
        }
      }
    },
    "levels": {
      "help": "Groups of corrections to fit, in this order.",
      "unit": "",
      "type": "choices",
      "label": "corrections",
      "choices": [
        "zeros",
        "geometry",
        "compliance",
        "sag",
        "transmission"
      ],
      "otherwise": "chosen by cross-validation over regions of postures",
      "default": null
    },
    "tip": {
      "help": "Link or frame that carries the target.",
      "unit": "",
      "type": "text",
      "label": "target carried by",
      "otherwise": "the last link",
      "default": null
    },
    "root": {
      "help": "Link or frame where the kinematic chain begins.",
      "unit": "",
      "type": "text",
      "label": "chain begins at",
      "otherwise": "the ground",
      "default": null
    },
    "zeros": {
      "help": "Where joint offsets are written: into the robot's frames, or into a table for its controller.",
      "unit": "",
      "type": "choice",
      "label": "joint offsets go into",
      "choices": [
        "file",
        "controller"
      ],
      "default": "file"
    }
  },
  "wrench": {
    "measurements": {
      "help": "Measurement files to fit, by their keys in the project.",
      "unit": "",
      "type": "key"
    },
    "validate": {
      "help": "Validation measurements, by their keys in the project.",
      "unit": "",
      "type": "key",
      "otherwise": "none: held-out regions",
      "default": []
    },
    "angle": {
      "help": "Unit of revolute positions and their rates.",
      "unit": "",
      "type": "choice",
      "label": "unit of angles",
      "choices": [
        "rad",
        "deg",
        "mrad"
      ],
      "otherwise": "rad",
      "default": null
    },
    "frame": {
      "help": "Link or frame to which the sensor is attached, placed by the joint positions of the file.",
      "unit": "",
      "type": "text",
      "label": "sensor attached to",
      "otherwise": "the orientation in the file, else the last link",
      "default": null
    },
    "axes": {
      "help": "Axes of the wrench.",
      "unit": "",
      "type": "choice",
      "label": "axes of the wrench",
      "choices": [
        "sensor",
        "base"
      ],
      "otherwise": "those for which a rigid tool explains the forces",
      "default": null
    },
    "of": {
      "help": "Body on which the wrench acts: `sensor` (the tool's weight, down) or `tool` (the robot's reaction, up).",
      "unit": "",
      "type": "choice",
      "label": "wrench acts on",
      "choices": [
        "sensor",
        "tool"
      ],
      "otherwise": "that with a positive mass",
      "default": null
    },
    "bias": {
      "help": "Sensor bias over the poses: constant, in steps where a column `tare` changes, linear in their order, or a random walk.",
      "unit": "",
      "type": "choice",
      "label": "bias of the sensor",
      "choices": [
        "auto",
        "constant",
        "steps",
        "linear",
        "walk"
      ],
      "default": "auto"
    },
    "moment": {
      "help": "Unit of the moments.",
      "unit": "",
      "type": "choice",
      "label": "unit of moments",
      "choices": [
        "N m",
        "N mm",
        "N cm"
      ],
      "default": "N m"
    },
    "columns": {
      "help": "Columns of force and moment.",
      "unit": "",
      "type": "texts",
      "label": "columns of force and moment",
      "otherwise": "fx fy fz tx ty tz, and other common names",
      "default": null
    },
    "rotation": {
      "help": "Columns of the sensor's orientation in the base.",
      "unit": "",
      "type": "texts",
      "label": "columns of the orientation",
      "otherwise": "qx qy qz qw",
      "default": []
    },
    "rotation_as": {
      "help": "Representation of the orientation.",
      "unit": "",
      "type": "choice",
      "label": "orientation given as",
      "choices": [
        "xyzw",
        "wxyz",
        "rpy",
        "vector",
        "matrix"
      ],
      "default": "xyzw"
    },
    "motion": {
      "help": "Whether rows are poses at rest, or samples of a motion whose derivatives are computed.",
      "unit": "",
      "type": "choice",
      "label": "rows are",
      "choices": [
        "rest",
        "moving"
      ],
      "otherwise": "moving where rows are at most 0.1 s apart and the sensor's position is known",
      "default": null
    }
  },
  "excite": {
    "family": {
      "help": "Parametrisation of the trajectory: Fourier series, or splines of degree 5.",
      "unit": "",
      "type": "choice",
      "label": "kind of motion",
      "choices": [
        "fourier",
        "spline"
      ],
      "default": "fourier"
    },
    "duration": {
      "help": "Duration of the trajectory.",
      "unit": "s",
      "type": "number",
      "low": 0.01,
      "high": 100000.0,
      "default": 10.0
    },
    "harmonics": {
      "help": "Harmonics of the Fourier series.",
      "unit": "",
      "type": "whole",
      "low": 1,
      "high": 1000000,
      "default": 5
    },
    "pieces": {
      "help": "Number of polynomial segments of the spline.",
      "unit": "",
      "type": "whole",
      "label": "segments of the spline",
      "low": 1,
      "high": 1000000,
      "default": 10
    },
    "start": {
      "help": "Posture at both ends of the trajectory; any for no constraint.",
      "unit": "rad or m",
      "type": "file",
      "label": "posture at both ends",
      "otherwise": "near the middle of the joint ranges",
      "default": null
    },
    "criterion": {
      "help": "Optimality criterion: condition number of the regressor, the same with unit-norm columns, volume of the confidence region (D-optimality), or largest predicted relative standard deviation.",
      "unit": "",
      "type": "choice",
      "choices": [
        "condition",
        "scaled-condition",
        "logdet",
        "deviation"
      ],
      "titles": {
        "condition": "condition number",
        "scaled-condition": "condition number, columns scaled",
        "logdet": "log det (D-optimal)",
        "deviation": "largest predicted standard deviation"
      },
      "default": "condition"
    },
    "rotors": {
      "help": "Identify rotor inertias.",
      "unit": "",
      "type": "flag",
      "label": "rotor inertias",
      "default": true
    },
    "friction": {
      "help": "Identify friction and offsets.",
      "unit": "",
      "type": "flag",
      "label": "friction and offsets",
      "default": true
    },
    "noise": {
      "help": "Standard deviation of the effort noise, one number or one per joint.",
      "unit": "N m or N",
      "type": "number",
      "label": "noise of the efforts",
      "low": 0,
      "high": 1000000000000.0,
      "otherwise": "a fraction of the largest nominal efforts",
      "default": null
    },
    "starts": {
      "help": "Number of random initial trajectories; the best result is kept.",
      "unit": "",
      "type": "whole",
      "label": "random starts",
      "low": 1,
      "high": 1000000,
      "default": 1
    },
    "seed": {
      "help": "Random seed of the first search.",
      "unit": "",
      "type": "whole",
      "label": "random seed",
      "low": 0,
      "high": 9223372036854775808,
      "default": 0
    },
    "samples": {
      "help": "Number of samples at which a trajectory is evaluated.",
      "unit": "",
      "type": "whole",
      "label": "samples of the motion",
      "low": 1,
      "high": 1000000,
      "default": 200
    },
    "patience": {
      "help": "Factor on the maximum number of iterations of a search.",
      "unit": "",
      "type": "number",
      "label": "patience of the search",
      "low": 0,
      "high": 1000000.0,
      "default": 1.0
    },
    "from": {
      "help": "Present posture of the robot: approach and return trajectories are computed as well.",
      "unit": "rad or m",
      "type": "numbers",
      "label": "present posture",
      "default": null
    },
    "limits": {
      "help": "Limits of the trajectory, as in a limits file.",
      "unit": "",
      "type": "file",
      "options": {
        "position": {
          "help": "Position limits: plus and minus one number, one number per joint, or pairs of lower and upper limits.",
          "unit": "rad or m",
          "type": "number",
          "low": -1000000000000.0,
          "high": 1000000000000.0,
          "otherwise": "those of the robot file",
          "default": null
        },
        "velocity": {
          "help": "Largest velocity, one number or one per joint.",
          "unit": "rad/s or m/s",
          "type": "number",
          "low": 0,
          "high": 1000000000000.0,
          "otherwise": "those of the robot file",
          "default": null
        },
        "acceleration": {
          "help": "Largest acceleration, one number or one per joint.",
          "unit": "rad/s2 or m/s2",
          "type": "number",
          "low": 0,
          "high": 1000000000000.0,
          "otherwise": "those of the robot file",
          "default": null
        },
        "jerk": {
          "help": "Largest jerk, one number or one per joint.",
          "unit": "rad/s3 or m/s3",
          "type": "number",
          "low": 0,
          "high": 1000000000000.0,
          "otherwise": "not limited",
          "default": null
        },
        "effort": {
          "help": "Largest effort, one number or one per joint; true for the limits of the robot file, false for no limit.",
          "unit": "N m or N",
          "type": "file",
          "low": 0,
          "high": 1000000000000.0,
          "otherwise": "those of the robot file, if it also has masses",
          "default": null
        },
        "effort_margin": {
          "help": "Fraction of every effort limit reserved for errors of the nominal model.",
          "unit": "",
          "type": "number",
          "label": "reserve of the efforts",
          "low": 0,
          "high": 0.999,
          "default": 0.1
        },
        "floor": {
          "help": "Height in the base frame above which every link stays, or none (in files: false).",
          "unit": "m",
          "type": "flag-number",
          "label": "height of the floor",
          "low": -1000000000000.0,
          "high": 1000000000000.0,
          "otherwise": "the base plane, where the robot stands on it",
          "default": "base"
        },
        "table": {
          "help": "Same as `floor`: a table with its `height`.",
          "unit": "",
          "type": "file",
          "otherwise": "none",
          "options": {
            "height": {
              "help": "Height of the table top in the base frame.",
              "unit": "m",
              "type": "number",
              "low": -1000000000000.0,
              "high": 1000000000000.0
            }
          }
        },
        "self_collision": {
          "help": "Check self-collision.",
          "unit": "",
          "type": "flag",
          "default": true
        },
        "margin": {
          "help": "Minimum distance to floor, links and obstacles.",
          "unit": "m",
          "type": "number",
          "label": "least distance",
          "low": 0,
          "high": 1000000000000.0,
          "otherwise": "20 mm, or 2 % of the robot's length if that is less",
          "default": null
        },
        "radius": {
          "help": "Radius assumed for links without shapes in the robot file.",
          "unit": "m",
          "type": "number",
          "label": "radius of links",
          "low": 0,
          "high": 1000000000000.0,
          "otherwise": "3.5 % of the robot's length",
          "default": null
        },
        "transmission_deg": {
          "help": "Minimum transmission angle: distance of the angles between links of closed loops from 0 and 180 degrees, where the loops are singular.",
          "unit": "degrees",
          "type": "number",
          "label": "least transmission angle",
          "low": 0,
          "high": 89.9,
          "default": 20.0
        },
        "box": {
          "help": "Boxes that the origins of named frames must not leave.",
          "unit": "",
          "type": "file",
          "otherwise": "none",
          "options": {
            "frame": {
              "help": "Frame whose origin must stay in the box; in files also a list of frames.",
              "unit": "",
              "type": "texts"
            },
            "lower": {
              "help": "Lower corner.",
              "unit": "m",
              "type": "numbers",
              "low": -1000000000000.0,
              "high": 1000000000000.0
            },
            "upper": {
              "help": "Upper corner.",
              "unit": "m",
              "type": "numbers",
              "low": -1000000000000.0,
              "high": 1000000000000.0
            }
          }
        },
        "obstacle": {
          "help": "Box-shaped obstacles.",
          "unit": "",
          "type": "file",
          "otherwise": "none",
          "options": {
            "centre": {
              "help": "Centre.",
              "unit": "m",
              "type": "numbers",
              "low": -1000000000000.0,
              "high": 1000000000000.0,
              "example": [
                0.6,
                0.0,
                0.2
              ]
            },
            "size": {
              "help": "Side lengths.",
              "unit": "m",
              "type": "numbers",
              "low": 0,
              "high": 1000000000000.0,
              "example": [
                0.2,
                0.2,
                0.4
              ]
            },
            "name": {
              "help": "Name of the obstacle in the results.",
              "unit": "",
              "type": "text",
              "otherwise": "its number",
              "default": ""
            }
          }
        },
        "foot": {
          "help": "Feet of a robot with a floating base.",
          "unit": "",
          "type": "file",
          "otherwise": "none: it hangs with its base held still",
          "options": {
            "frame": {
              "help": "Link or frame that the foot is fixed to.",
              "unit": "",
              "type": "text"
            },
            "at": {
              "help": "Contact point, or the middle of the sole.",
              "unit": "m",
              "type": "numbers",
              "low": -1000000000000.0,
              "high": 1000000000000.0,
              "otherwise": "the origin of the frame",
              "default": [
                0.0,
                0.0,
                0.0
              ]
            },
            "size": {
              "help": "Length and width of the sole.",
              "unit": "m",
              "type": "numbers",
              "low": 0,
              "high": 1000000000000.0,
              "otherwise": "a point",
              "default": null
            },
            "radius": {
              "help": "Radius of a round foot about the contact point.",
              "unit": "m",
              "type": "number",
              "low": 0,
              "high": 1000000000000.0,
              "default": 0.0
            },
            "friction": {
              "help": "Friction coefficient of foot and ground.",
              "unit": "",
              "type": "number",
              "low": 0,
              "high": 10.0,
              "default": 0.5
            },
            "lifted": {
              "help": "Whether it stays above the ground, and may move.",
              "unit": "",
              "type": "flag",
              "default": false
            }
          }
        },
        "contact_margin": {
          "help": "Fraction of every limit of contact forces reserved for errors of the nominal model and of tracking.",
          "unit": "",
          "type": "number",
          "low": 0,
          "high": 0.9,
          "default": 0.3
        },
        "format": {
          "help": "Format version of the written file.",
          "unit": "",
          "type": "whole",
          "low": 1,
          "high": 1,
          "default": 1
        },
        "made_for": {
          "help": "Robot, joints and gravity for which the file was written.",
          "unit": "",
          "type": "file",
          "otherwise": "any robot"
        }
      }
    }
  },
  "generate": {
    "model": {
      "help": "Identified model, by its key in the project.",
      "unit": "",
      "type": "key",
      "otherwise": "the robot of the robot file",
      "default": null
    },
    "programs": {
      "help": "Programs to generate (docs/programs.md).",
      "unit": "",
      "type": "choices",
      "choices": [
        "inverse_dynamics",
        "background",
        "background_parts",
        "synchronous",
        "coefficients",
        "gravity",
        "mass_matrix",
        "velocity_torque",
        "friction",
        "base_regressor",
        "base_regressor_entries",
        "forward_dynamics",
        "recursive_update",
        "inverse_dynamics_wrench",
        "forward_dynamics_wrench",
        "jacobian",
        "forward_kinematics",
        "coriolis_matrix",
        "slotine_li",
        "slotine_li_regressor",
        "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives",
        "momentum_observer",
        "momentum_regressor",
        "power_regressor",
        "differentiator",
        "parabola_differentiator",
        "low_pass",
        "watch_terms",
        "adaptive_start",
        "adaptive_law",
        "elastic_forward_dynamics",
        "elastic_inverse_dynamics",
        "correct_joints",
        "command_joints",
        "calibrated_forward_kinematics",
        "calibrated_jacobian"
      ],
      "titles": {
        "inverse_dynamics": "inverse dynamics",
        "background": "background",
        "background_parts": "background parts",
        "synchronous": "synchronous",
        "coefficients": "coefficients",
        "gravity": "gravity",
        "mass_matrix": "mass matrix",
        "velocity_torque": "velocity torque",
        "friction": "friction",
        "base_regressor": "base regressor",
        "base_regressor_entries": "base regressor entries",
        "forward_dynamics": "forward dynamics",
        "recursive_update": "recursive update",
        "inverse_dynamics_wrench": "inverse dynamics wrench",
        "forward_dynamics_wrench": "forward dynamics wrench",
        "jacobian": "Jacobian",
        "forward_kinematics": "forward kinematics",
        "coriolis_matrix": "Coriolis matrix",
        "slotine_li": "Slotine-Li",
        "slotine_li_regressor": "Slotine-Li regressor",
        "inverse_dynamics_derivatives": "inverse dynamics derivatives",
        "forward_dynamics_derivatives": "forward dynamics derivatives",
        "momentum_observer": "momentum observer",
        "momentum_regressor": "momentum regressor",
        "power_regressor": "power regressor",
        "differentiator": "differentiator",
        "parabola_differentiator": "parabola differentiator",
        "low_pass": "low pass",
        "watch_terms": "watch terms",
        "adaptive_start": "adaptive start",
        "adaptive_law": "adaptive law",
        "elastic_forward_dynamics": "elastic forward dynamics",
        "elastic_inverse_dynamics": "elastic inverse dynamics",
        "correct_joints": "correct joints",
        "command_joints": "command joints",
        "calibrated_forward_kinematics": "calibrated forward kinematics",
        "calibrated_jacobian": "calibrated Jacobian"
      },
      "otherwise": "those of the target",
      "default": null
    },
    "target": {
      "help": "Target of the code.",
      "unit": "",
      "type": "choice",
      "choices": [
        "c",
        "cortex-m",
        "cuda",
        "numpy",
        "jax",
        "torch",
        "matlab",
        "fmu",
        "ros2"
      ],
      "titles": {
        "c": "C",
        "cortex-m": "C for Cortex-M",
        "cuda": "CUDA",
        "numpy": "NumPy",
        "jax": "JAX",
        "torch": "PyTorch",
        "matlab": "MATLAB",
        "fmu": "FMU",
        "ros2": "ROS 2 plugin"
      },
      "default": "c"
    },
    "precision": {
      "help": "Single precision.",
      "unit": "",
      "type": "choice",
      "choices": [
        "double",
        "float"
      ],
      "default": "double"
    },
    "sincos": {
      "help": "Inline sines and cosines, no math library.",
      "unit": "",
      "type": "choice",
      "label": "sines and cosines",
      "choices": [
        "libm",
        "own"
      ],
      "titles": {
        "libm": "of the math library",
        "own": "in line, without a library"
      },
      "default": "libm"
    }
  },
  "rehearse": {
    "noise": {
      "help": "Standard deviation of the effort noise, relative to each joint's rms effort.",
      "unit": "",
      "type": "number",
      "default": 0.01
    },
    "rate": {
      "help": "Rate of the controller and the log.",
      "unit": "Hz",
      "type": "number",
      "default": 500.0
    },
    "duration": {
      "help": "Duration of each trajectory.",
      "unit": "s",
      "type": "number",
      "low": 0.01,
      "high": 100000.0,
      "default": 8.0
    },
    "harmonics": {
      "help": "Harmonics of the trajectories.",
      "unit": "",
      "type": "whole",
      "low": 1,
      "high": 1000000,
      "default": 5
    },
    "starts": {
      "help": "Number of random initial trajectories; the best result is kept.",
      "unit": "",
      "type": "whole",
      "label": "random starts",
      "low": 1,
      "high": 1000000,
      "default": 1
    },
    "resolution": {
      "help": "Resolution of the encoders; 0 for ideal encoders.",
      "unit": "rad or m",
      "type": "number",
      "low": 0,
      "high": 1,
      "otherwise": "1e-05 rad for revolute and 1e-06 m for prismatic joints",
      "default": null
    },
    "cutoff": {
      "help": "Cut-off of the low-pass on positions.",
      "unit": "Hz",
      "type": "number",
      "default": 20.0
    },
    "seed": {
      "help": "Random seed of the trajectories and the noise.",
      "unit": "",
      "type": "whole",
      "label": "random seed",
      "low": 0,
      "high": 9223372036854775808,
      "default": 0
    },
    "delay": {
      "help": "Delay from a command to its effort.",
      "unit": "s",
      "type": "number",
      "low": 0,
      "high": 10,
      "default": 0.0
    },
    "stribeck": {
      "help": "Static friction in excess of Coulomb friction, relative to it (Stribeck effect).",
      "unit": "",
      "type": "number",
      "low": 0,
      "high": 100,
      "default": 0.0
    },
    "load": {
      "help": "Payload that is attached while its mass is estimated.",
      "unit": "kg",
      "type": "number",
      "otherwise": "5 % of the moving mass",
      "default": null
    },
    "show": {
      "help": "Generated controllers to test, or all.",
      "unit": "",
      "type": "choices",
      "choices": [
        "adaptive",
        "collision",
        "guiding"
      ],
      "default": []
    },
    "watch": {
      "help": "Duration of contact-free motion in which false collision alarms are counted.",
      "unit": "s",
      "type": "number",
      "default": 60.0
    }
  },
  "control": {
    "arm": {
      "help": "Identified model of the arm, by its key in the project.",
      "unit": "",
      "type": "key",
      "otherwise": "the robot of the robot file",
      "default": null
    },
    "known": {
      "help": "Model used by the controller.",
      "unit": "",
      "type": "key",
      "otherwise": "the robot of the robot file",
      "default": null
    },
    "seconds": {
      "help": "Duration of the trajectory.",
      "unit": "s",
      "type": "number",
      "label": "duration",
      "low": 0.5,
      "high": 30,
      "default": 4.0
    },
    "seed": {
      "help": "Random seed of the trajectory.",
      "unit": "",
      "type": "whole",
      "label": "random seed",
      "low": 0,
      "high": 9223372036854775808,
      "default": 0
    },
    "shows": {
      "help": "Generated controllers to test.",
      "unit": "",
      "type": "choices",
      "label": "controllers to test",
      "choices": [
        "adaptive",
        "guiding"
      ],
      "titles": {
        "adaptive": "adaptive control: a payload is picked up",
        "guiding": "hand guiding: pulled and released"
      },
      "default": []
    }
  },
  "fleet": {
    "store": {
      "help": "Fleet store, by its key in the project.",
      "unit": "",
      "type": "key"
    },
    "q": {
      "help": "False discovery rate: expected fraction of false alarms among the alarms.",
      "unit": "",
      "type": "number",
      "label": "false alarms among alarms",
      "low": 0.0001,
      "high": 0.9,
      "default": 0.1
    },
    "horizon": {
      "help": "Prior of the onset of a change: number of days with logs over which its probability is spread.",
      "unit": "days",
      "type": "whole",
      "label": "onset of a change within",
      "low": 1,
      "high": 3650,
      "default": 90
    },
    "learning": {
      "help": "Number of training days: the first days with logs.",
      "unit": "days",
      "type": "whole",
      "label": "training days",
      "low": 2,
      "high": 3650,
      "default": 30
    },
    "today": {
      "help": "Day of the report, as the ordinal number that `date.toordinal` returns.",
      "unit": "",
      "type": "whole",
      "otherwise": "the day of the newest log that is not dated in the future",
      "default": null
    }
  }
} as const;

export const ESTIMATORS = {
  "auto": "auto: chosen by prediction",
  "ols": "ols: Ordinary least squares",
  "wls": "wls: Weighted least squares",
  "robust": "robust: Huber's M-estimator",
  "tls": "tls: Mixed total least squares on rows weighted by joint",
  "iv": "iv: Refined instrumental variables",
  "ridge": "ridge: Ridge regression with each unknown scaled by its column norm",
  "sequential": "sequential: One small least-squares problem per joint",
  "offline": "offline: Least squares in stages of logs",
  "recursive": "recursive: Recursive least squares over the logs in order",
  "physical": "physical: Physically consistent least squares by semidefinite programming"
} as const;

export const TARGETS = {
  "c": {
    "title": "C",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "cortex-m": {
    "title": "C for Cortex-M",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "cuda": {
    "title": "CUDA",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "numpy": {
    "title": "NumPy",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "jax": {
    "title": "JAX",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "torch": {
    "title": "PyTorch",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "matlab": {
    "title": "MATLAB",
    "programs": [
      "inverse_dynamics",
      "background",
      "synchronous"
    ],
    "others": true
  },
  "fmu": {
    "title": "FMU",
    "programs": [
      "inverse_dynamics"
    ],
    "others": false
  },
  "ros2": {
    "title": "ROS 2 plugin",
    "programs": [
      "mass_matrix",
      "velocity_torque",
      "gravity",
      "friction",
      "inverse_dynamics"
    ],
    "others": false
  }
} as const;
