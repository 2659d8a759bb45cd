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
  program?: string | "?" | null;
  load?: string | "?" | null;
  angle?: "rad" | "deg" | "mrad" | "?" | null;
  length?: "m" | "mm" | "cm" | "um" | "in" | "?" | null;
  effort_unit?: "Nm" | "A" | "V" | "permille" | "percent" | "?" | null;
  header?: (string | "?")[] | null;
  delimiter?: "," | ";" | "\t" | "|" | " " | "?" | null;
  decimal?: "." | "," | "?" | null;
  topic?: string | "?" | null;
  command_topic?: string | "?" | null;
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
  law?: "p" | "pd" | "pid" | "voltage" | "?" | null;
  kp?: number | "?" | (number | "?")[] | null;
  kd?: number | "?" | (number | "?")[] | null;
  ki?: number | "?" | (number | "?")[] | null;
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

export interface CalibrationTable {
  levels?: ("zeros" | "geometry" | "sag" | "transmission" | "?")[] | null;
  tip?: string | "?" | null;
  root?: string | "?" | null;
  zeros?: "file" | "controller" | "?" | null;
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
  calibration: CalibrationTable;
}

export const OPTIONS = {
  "logs": {
    "stamps": {
      "help": "Drop samples whose stamp repeats or goes back.",
      "unit": "",
      "type": "flag",
      "default": true
    },
    "resample": {
      "help": "Bring uneven stamps to an even rate.",
      "unit": "",
      "type": "flag",
      "default": true
    },
    "standstill": {
      "help": "Cut off standstill at both ends, and short moves apart from the rest such as the approach to the first point.",
      "unit": "",
      "type": "flag",
      "default": true
    },
    "train": {
      "help": "Logs that are fitted: paths, recordings, motions or `Log` objects; a single one needs no list.",
      "unit": "",
      "type": "file",
      "default": []
    },
    "validate": {
      "help": "Logs that are only predicted.",
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
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "order": {
      "help": "Order of the Butterworth filter, which runs forwards and backwards.",
      "unit": "",
      "type": "whole",
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
      "help": "Points of a Savitzky-Golay window, an odd number.",
      "unit": "",
      "type": "whole",
      "low": 3,
      "high": 100001,
      "default": 9
    },
    "degree": {
      "help": "Degree of a Savitzky-Golay polynomial, below the window's points.",
      "unit": "",
      "type": "whole",
      "low": 1,
      "high": 100,
      "default": 3
    },
    "rate_hz": {
      "help": "Rate after decimation.",
      "unit": "Hz",
      "type": "number",
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "parallel_hz": {
      "help": "Cut-off of the filter that regressor and efforts both pass before decimation.",
      "unit": "Hz",
      "type": "number",
      "low": 0.001,
      "high": 10000000.0,
      "default": null
    },
    "on": {
      "help": "What is decimated.",
      "unit": "",
      "type": "choice",
      "choices": [
        "equation",
        "signals"
      ],
      "default": "equation"
    },
    "trim_s": {
      "help": "Time dropped at each end.",
      "unit": "s",
      "type": "number",
      "low": 0.0,
      "default": null
    },
    "equations": {
      "help": "Rows of the linear problem: torque, or momentum or power, without accelerations.",
      "unit": "",
      "type": "choice",
      "choices": [
        "torque",
        "momentum",
        "power"
      ],
      "default": "torque"
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
      "help": "Velocities, optional; `\"\"` leaves logged ones out.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "qdd": {
      "help": "Accelerations, optional; `\"\"` leaves logged ones out.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "effort": {
      "help": "Measured torques, forces, currents, voltages.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "temperature": {
      "help": "Temperatures of the joints [°C], for friction that depends on them; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "command": {
      "help": "Commanded positions, for logs without efforts ([Robots without torque sensing](output-error.md)); optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "command_velocity": {
      "help": "Commanded velocities; optional.",
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
      "help": "Positions of the motors of [elastic joints](elastic.md), a second encoder, divided by the drive's ratios where it has any; optional.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "program": {
      "help": "Column with the number of the program that runs; kept in records of [fleets](fleets.md).",
      "unit": "",
      "type": "text",
      "default": null
    },
    "load": {
      "help": "Column with the mass carried [kg]; kept in records of [fleets](fleets.md).",
      "unit": "",
      "type": "text",
      "default": null
    },
    "angle": {
      "help": "Unit of revolute positions and their rates.",
      "unit": "",
      "type": "choice",
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
      "help": "Unit of the efforts; `Nm` is N m, and N for prismatic joints.",
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
      "help": "Text between columns.",
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
    "episode": {
      "help": "Episode of a table of LeRobot that holds several, counted from 0.",
      "unit": "",
      "type": "whole",
      "low": 0,
      "default": null
    },
    "drop_torn": {
      "help": "Leave out malformed rows of logs, and count them.",
      "unit": "",
      "type": "flag",
      "default": false
    }
  },
  "drive": {
    "position": {
      "help": "Side on which positions are logged.",
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
      "help": "Motor turns per joint turn, one for each coordinate, may be negative.",
      "unit": "",
      "type": "file",
      "low": 1e-06,
      "high": 1000000000.0,
      "default": null
    },
    "coupling": {
      "help": "G, instead of `ratios`: motor positions = G q and joint efforts = G' motor efforts.",
      "unit": "",
      "type": "file",
      "low": 1e-09,
      "high": 1000000000.0,
      "default": null
    },
    "gains": {
      "help": "K: effort per unit of the log, on the side it is logged on, one for each coordinate.",
      "unit": "N m or N per unit",
      "type": "file",
      "low": 1e-09,
      "high": 1000000000.0,
      "default": null
    },
    "gain_deviations": {
      "help": "How well the gains are known, in their unit; it enters the deviations of a [payload](howto/payload.md).",
      "unit": "",
      "type": "file",
      "low": 1e-12,
      "high": 1000000000.0,
      "default": null
    },
    "signs": {
      "help": "S: 1 or -1, flips a joint's position and effort.",
      "unit": "",
      "type": "file",
      "low": 1,
      "high": 1,
      "default": null
    },
    "effort_signs": {
      "help": "S_e: 1 or -1, flips a joint's effort only.",
      "unit": "",
      "type": "file",
      "low": 1,
      "high": 1,
      "default": null
    },
    "offsets": {
      "help": "Added to the joint positions, last; `offsets_deg` is the same in degrees.",
      "unit": "rad or m",
      "type": "file",
      "low": 0,
      "high": 1000000.0,
      "default": null
    },
    "delay": {
      "help": "Time by which the effort lags the position (`minertia check LOG` estimates it).",
      "unit": "s",
      "type": "number",
      "low": -1000000.0,
      "high": 1000000.0,
      "default": 0.0
    }
  },
  "model": {
    "effects": {
      "help": "Effects of the joints besides the links' inertia, by word or symbol (FC, on one joint FC3), or none.",
      "unit": "",
      "type": "file",
      "default": null
    },
    "fix": {
      "help": "Known parameters, not fitted, by their full names.",
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
      "help": "For logs of commands: keep the links of the robot's file, or fit physically consistent ones.",
      "unit": "",
      "type": "choice",
      "choices": [
        "robot",
        "physical"
      ],
      "default": "robot"
    },
    "prior": {
      "help": "Values towards which ridge and physical are regularised: those of the robot's file (robot), or of another robot or model file.",
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
      "help": "Most iterations of the weights.",
      "unit": "",
      "type": "whole",
      "low": 1,
      "high": 10000,
      "default": 30
    },
    "threshold": {
      "help": "Residual over the scale from which it counts less; 1.345 is 95 % efficient on clean data.",
      "unit": "",
      "type": "number",
      "low": 0.1,
      "high": 1000000.0,
      "default": 1.345
    },
    "tolerance": {
      "help": "Step that ends the iteration, in deviations.",
      "unit": "",
      "type": "number",
      "low": 1e-12,
      "high": 1,
      "default": 0.0001
    },
    "ratio": {
      "help": "Relative noise of the columns over that of the efforts; 1 is the classical problem, 0 is least squares.",
      "unit": "",
      "type": "number",
      "low": 1e-06,
      "high": 1000000.0,
      "default": 0.1
    },
    "bandwidth": {
      "help": "Bandwidth of the loop that holds the simulation near the measured motion.",
      "unit": "rad/s",
      "type": "number",
      "low": 0.1,
      "high": 10000.0,
      "default": 20.0
    },
    "segments": {
      "help": "Pieces of a recording that are simulated side by side, each from its measured start.",
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
      "help": "Distance to the prior.",
      "unit": "",
      "type": "choice",
      "choices": [
        "euclidean",
        "entropic"
      ],
      "default": "euclidean"
    },
    "margin": {
      "help": "Least eigenvalue of a pseudo-inertia, as a part of its trace.",
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
      "low": 0.001,
      "high": 10000000.0
    },
    "rate_hz": {
      "help": "Rate at which efforts are compared; it stands beside `cutoff_hz`.",
      "unit": "Hz",
      "type": "number",
      "low": 0.001,
      "high": 10000000.0
    },
    "trim_s": {
      "help": "Time left out at both ends of a log.",
      "unit": "s",
      "type": "number",
      "low": 0.0,
      "default": 0.0
    },
    "log_unit": {
      "help": "Judge in the log's unit and on its side (amperes of motors) instead of joint efforts.",
      "unit": "",
      "type": "flag",
      "default": false
    }
  },
  "command": {
    "law": {
      "help": "Control law of the position loops.",
      "unit": "",
      "type": "choice",
      "choices": [
        "p",
        "pd",
        "pid",
        "voltage"
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
      "help": "Damping acts on the commanded less the measured velocity.",
      "unit": "",
      "type": "flag",
      "default": false
    },
    "hold": {
      "help": "The command between rows: held, or linear.",
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
      "help": "What is late.",
      "unit": "",
      "type": "choice",
      "choices": [
        "command",
        "effort"
      ],
      "default": "command"
    },
    "limit": {
      "help": "Limit of the effort, one or a list.",
      "unit": "N m or N",
      "type": "file",
      "low": 0,
      "high": 1000000000000.0,
      "default": null
    },
    "reference": {
      "help": "What fixes the scale.",
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
      "help": "Step of the simulator, with the integrator euler.",
      "unit": "s",
      "type": "number",
      "low": 1e-05,
      "high": 0.02,
      "default": null
    },
    "zeros": {
      "help": "Zeros of the robot's file less those of the log (links are at q + zeros).",
      "unit": "rad or m",
      "type": "file",
      "low": -1000000000000.0,
      "high": 1000000000000.0,
      "default": 0.0
    },
    "leave_out_contact": {
      "help": "Stretches that nothing in the loop explains, as where the robot touches something, take no part in the fit ([below](#where-the-robot-is-pushed)).",
      "unit": "",
      "type": "flag",
      "default": true
    }
  },
  "elastic": {
    "joints": {
      "help": "Elastic joints, by name or number from 1.",
      "unit": "",
      "type": "file",
      "low": 1,
      "default": []
    },
    "stiffness": {
      "help": "Where the fit of the stiffness on the link side starts: a number for all of them or one each, or `\"?\"`.",
      "unit": "N m/rad or N/m",
      "type": "file",
      "low": 1.0,
      "high": 1000000000.0,
      "default": null
    },
    "damping": {
      "help": "Where the fit of the damping on the link side starts: a number for all of them or one each, or `\"?\"`.",
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
      "help": "Side that the joints' own position loops read.",
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
      "help": "Links or frames of the robot's file whose origins touch the floor.",
      "unit": "",
      "type": "file",
      "default": []
    },
    "height": {
      "help": "Height along the direction up, from the base's origin.",
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
      "help": "Stiffness of the floor and what touches it.",
      "unit": "N/m",
      "type": "number",
      "low": 100.0,
      "high": 10000000.0,
      "default": 10000.0
    }
  },
  "calibration": {
    "levels": {
      "help": "Corrections to fit, in this order.",
      "unit": "",
      "type": "file",
      "choices": [
        "zeros",
        "geometry",
        "sag",
        "transmission"
      ],
      "default": null
    },
    "tip": {
      "help": "Link or frame that carries the target.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "root": {
      "help": "Link or frame where the chain begins.",
      "unit": "",
      "type": "text",
      "default": null
    },
    "zeros": {
      "help": "Zeros into the robot's frames, or as a table for its controller.",
      "unit": "",
      "type": "choice",
      "choices": [
        "file",
        "controller"
      ],
      "default": "file"
    }
  }
} as const;
