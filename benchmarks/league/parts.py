"""The parts of the league in order: each a module of this package with `rows`; its title, and what its page says."""

PARTS = {
    "base_parameters": "Base parameters of public robots",
    "arms": "Dynamics of arms",
    "without_effort": "Without effort measurements",
    "calibration": "Geometric calibration",
    "servos": "Servo models",
    "friction": "Friction of single joints",
    "speed": "Speed on the processor",
    "gpu": "Speed on a GPU",
    "traps": "Wrong set-ups",
    "coverage": "Coverage of 95 % intervals",
}
ABOUT = {
    "base_parameters": """\
Counts by minertia's symbolic closed form, certified by the rank of its own regressor; by the recursive parameter
nullspace algorithm (RPNA: Wensing, Niemeyer and Slotine), written here after the paper; and by the numeric rank of
Pinocchio's regressor at random states.  All three take the geometry that minertia reads, in which rounded right angles
are right angles.  A blank cell is a robot with dependent joints or closed chains, which the other two do not treat.""",
    "arms": """\
The first two thirds of each log are fitted, the rest is judged.  Planted: a PUMA 560 with rotors, friction and links
that its file does not have, 2 % noise, one seed.  TX40: the campaign of `examples/logs`, whose cut-offs were written
down with the whole log in view; effects are given, not chosen.  FIGAROH runs with the settings of its TX40 example; the
example uses 9 s of the log, of which 4.8 s are here, and its README states no residual, so no published figure could be
reproduced.  Least squares uses the filter, decimation, weights and columns of the FIGAROH entry.  The parameter error
weighs each base parameter by its share in the judged efforts.  Lines: the script of each rival; ours are the
campaign (of the TX40 its file) and a call of `identify`.""",
    "without_effort": """\
One log of 6 s that MuJoCo made: 12 joints under position servos, 36 planted values, 1 mrad noise, the same start values
for all.  Errors are medians over 12 joints.  No published figure of `mujoco.sysid` for such a task is known to us, and
its tutorial was not repeated.  Its intervals, on request, assume white residuals; unlike `minertia identify` it does
not name values that cannot be identified.""",
    "calibration": """\
Logs of FIGAROH's own examples; every third posture is judged.  minertia chooses its corrections on held-out regions of
the fitted postures; FIGAROH has level `full_params`.  No published error of it on unseen postures is known to us.
Errors are distances; unseen error: root mean square.
Lines: our columns file and one call; FIGAROH's script and its configuration, a setting a line.  Pandas: a ball in two
sockets, joints alone (MUKCa's data); each place is judged by a fit of the others, seconds are those of one fit.  In
`high` of panda_2 18 of 62 postures are unseated: a fit of all places leaves 1.09 mm there.""",
    "servos": """\
75 runs of a Feetech STS3215 (kscale), four loads and three gains; each load, then each gain, is predicted by a fit of
the others.  Error: mean absolute position error of whole runs, simulated from their first row with the loop closed,
without rows that the bus misread; *without drops* leaves out the runs in which the motor is switched off.  Our forms
of friction were found on these runs, their values and the choice among them on the fitted ones alone.  BAM's published
values were fitted by its users to all loads and gains, trimmed, and run here in BAM's simulator: `id006` has a
constant gain, `id009` the gain by error that they measured later, and was published without drops.  They state 23 to
24 and 20 to 21 mrad on their own trimmed runs, which are not here.  BAM's own fit has fewer trials than theirs.""",
    "friction": """\
The first half of each log is fitted, the second is judged.  The eight columns are the predictions that the authors of
NNFM publish with their logs; whether learned methods saw the judged half is not stated.  minertia chooses its effects
by marginal likelihood on the first half, with `memory = true`: `presliding` depends on the path.  It, and a link in
gravity for the errors of the authors' rigid-body model, were settled on the first two quarters, after a look at plots
of whole logs; the displacements that are tried on other robots.  Without both, 14.6, 19.1, 60.5 and 15.9 % are left.
Of the first three logs the rest mostly repeats with the position, as ripple of gears does; on franka_joint2_fast, where
friction explains least, it depends on the direction as well.""",
    "speed": """\
Nanoseconds of one evaluation for a Panda, each result first compared with Pinocchio's.  `make bench` measures more
programs, arms and machines ([benchmarks](benchmarks.md)).""",
    "gpu": """\
Nanoseconds of one sample of many on an NVIDIA H200, for the arm of a Panda; frax has its own Panda.  `python -m
benchmarks.gpu` measures it where there is a device, checks the torques of GRiD and MJX against ours, and keeps it with
its date in `benchmarks/results`; this part reads that file, and notes the date.
Each peer runs at the best of several batches and, for
GRiD, of several block sizes with the one that its generator suggests.""",
    "traps": """\
A planted PUMA 560 as above, with one fault in its log.  FIGAROH's verification has no thresholds of its own for
predictions, so its check of the execution is shown.""",
    "coverage": """\
Part of the stated 95 % intervals that hold the planted truth, by the functions of the tests of coverage, with fewer
draws.  Intervals of one draw err alike, so 20 draws scatter by some 2 to 3 %, payloads and gains by more.""",
}
# the figure that is drawn
PICTURED = {
    "base_parameters": "minertia",
    "arms": "unseen residual [%]",
    "without_effort": "seconds",
    "calibration": "unseen error [mm]",
    "servos": "without drops [mrad]",
    "friction": "unseen residual [%]",
    "speed": "time [ns]",
    "gpu": "time [ns]",
    "coverage": "held [%]",
}
SMALLEST = (
    "arms",
    "calibration",
    "servos",
    "friction",
    "speed",
    "gpu",
)  # parts in which the smallest figure of a subject is the best
