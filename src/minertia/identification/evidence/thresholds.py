"""Thresholds of the verdict, each with its reason.

Fractions are relative to the effort (norm over norm) unless stated otherwise.  "The drawn set-ups" are
those of `tests/identification/drawn_setups.py`: these thresholds were chosen on half of their robots, and
the other half was held out for the report.
"""

from __future__ import annotations

import math

# beside other models, on unseen logs
WORSE, MORE = 1.25, 0.005  # ratio of errors, and part of the effort, within which two models are comparable
BETTER = 1.05  # ratio from which one is called better
NO_PRAISE = 0.5  # to leave less than a model that leaves half of the effort is nothing to be praised for
OVERFIT = 1.5  # unseen over training error from which the difference is named: folds of right campaigns stay below

# values
POOR = 0.3  # relative deviation from which a value is known in sign at best

# size of what is left beyond the noise of the log
SMALL = 0.1  # right set-ups leave at most 0.08, faults that no set-up explains 0.14 and more: beyond, joints are limits
FRICTION = 0.4  # part of friction that the usual effects may leave: Stribeck, temperature, memory at reversals
LARGEST = 1 / 3  # whatever friction takes: a model that leaves a third predicts nothing
DROWNED = 0.7  # of the effort, left with its noise: where half of its power is left, the logs do not show any model
LARGE_JOINT = 0.25  # of a joint's effort, from which the joint is a limit: wrists of right set-ups leave up to a fifth

# what a robot's file may be off
MASSES = 0.3  # of its masses, or of the true ones: catalogues, CAD without cables, another variant
CENTRES = 0.025  # m, each way: a centre of mass that CAD has wrong by 2 cm is no wrong set-up

# other set-ups: what is left of the varying efforts, by the file's masses, by links within a file's errors (masses and
# centres), and by masses fitted anew, under another set-up over what was left under the one that is stated
SURE = 0.1  # of every joint's effort: where the file's masses leave less, the set-up is right
MASSES_FALL, MASSES_MORE = 0.5, 0.08  # masses that are 30 % off leave no other set-up half of what the right one leaves
WITHIN_STAYS = 0.8  # links within a file's errors must say so, too: else a wrong centre of a wrist is a zero of a joint
WITHIN_FALLS, WITHIN_MORE = 0.5, 0.05  # where these alone are enough
SCALE_FALLS = 0.8  # by the file's masses, of the joints whose efforts a scale changes: others do not see it
REFIT_FALLS, REFIT_MORE = 0.65, 0.03  # masses fitted anew know nothing of the file's errors, and follow a lot
BOTH_FALL, BOTH_MORE = 0.75, 0.02  # by the file's masses, and of the efforts, where both leave less: each says it anew
REFIT_ALONE = 0.05  # how much less these must leave where the file has no masses to ask
# of set-ups that fits alone tell: no wrong one left right drawn set-ups, nor public logs, less than 0.76 of what the
# right one left (a wrist of the Panda whose friction looks like a delay)
CLEARLY, CLEARLY_MORE = 0.7, 0.006
CLEARLY_AT_JOINT = 0.75  # the same of one joint: no wrong one left less than 0.83 of a joint of a right set-up
CLEARLY_LATE = 0.5  # of a joint that is late: friction that lags makes 0.68 of the Panda's wrist, delays 0.16 or less
NO_WORSE = 1.15  # what is left by the other of the two, at most, over what it left before
NO_MORE = 0.01  # and, as errors add up, how much of the efforts beside that
MENDED = 0.5  # a set-up that leaves more of the efforts mends nothing
MENDS = 0.3  # of what masses fitted anew left: one that leaves less is the fault, and none that fits tell is looked for
PLAIN = 1.1  # a plain value (a right angle) is kept where it leaves at most this much more than a finer one
AS_GOOD = 1.3  # what is left, over that of the best one, up to which a set-up is named beside it
CONTRADICTS = 0.6  # left by the file's masses, from which file and logs contradict each other: right set-ups leave 0.3,
CONTRADICTS_WITHIN = 0.45  # and by links within a file's errors: small wrists whose centres are off leave nothing here
NOISY = 10.0  # a joint whose noise is a tenth of its effort counts 0.7: noise of wrists must hide no fault elsewhere

# other set-ups: from which values on they are tried; masses that are 30 % off make up for smaller changes: a factor of
# all inertia of 1.3 is a clock of 1.14
EXPLAINED, EXPLAINED_CLEARLY = 0.5, 0.9  # of an effort's power, that the masses must explain to say its size
SCALE, CLEAR_SCALE = 2.0, 1.7  # efforts over those of the file's masses: masses that are 30 % off stay below 1.5
ELSEWHERE = math.radians(20)  # direction of gravity
TURNED = math.radians(20)  # zero of a joint
OTHER_CLOCK = 1.2  # clock, either way
FAR = 10.0  # rad or m travelled, from which the unit of a position is doubted
OTHER_GAIN = 1.1  # factor of one joint's effort from which it is named
OTHER_PACE = 1.05  # the same where fits tell it
OTHER_LENGTHS = 1.1  # of all lengths, either way: files of one family differ by more, and calibrated ones by far less
OTHER_RATIO = 1.05  # of a joint's position, either way

# parts of logs that were simulated with the robot file: what the file alone, without a fit, leaves of the efforts
SIMULATED = 0.15  # of the varying effort: a simulation is repeated with accelerations from noisy positions
NOT_SIMULATED = 4.0  # times that, of the other parts: where they are alike, the file is right
AS_FAST = 0.5  # speed and varying effort over those of the others: slow motion shows gravity, which files know better

# what a motion shows of the file's masses
NOTICEABLE = 0.1  # of a joint's varying effort
SHOWN = 0.02  # of the range of a joint's effort by the file's masses, below which rotor and friction take all of it

# weight on slides along which gravity is constant
LEVEL = 0.1  # of the weight: a slide that is 6 degrees from where the file has it
USUAL_OFFSET = 0.25  # of the varying effort: friction that depends on the direction, cables, sensors
CONSTANT_WEIGHT = 0.02  # of the weight: along a slide whose share of it varies more, gravity is seen beside an offset
REVERSES = 0.1  # of the samples each way: else an offset is friction as well

# a tool that the file does not know, which explains the weight on a slide where the other joints tell it, too
TOOL_PART = 1 / 3  # of the unexplained weight, that they tell: beside masses that are 30 % off a third or more of it
TOOL_SEEN = 0.12  # of their efforts, left by the file's masses: masses that are 30 % off leave 0.11
TOOL_FALLS = 0.5  # what a tool must leave of that
TOOL_HEAVIEST = 1e4  # kg or kg m: more is a motion that tells nothing

# efforts beyond the limits in the file
BEYOND_LIMITS = 5.0  # largest effort over its limit in the file, from which its unit is doubted
OFTEN = 99.0  # percentile of an effort that counts as its largest

# a robot that can exist
IMPOSSIBLE_TIMES = 2.0  # residual of the best physical robot over that of the free fit: noise makes it 1.1
IMPOSSIBLE_MORE, IMPOSSIBLE_AT_JOINT = 0.02, 0.1  # and how much more of the effort: of all joints, of one

# motion that says something of other motion
ALONE = 0.99  # of the motion on one line or plane, from which all joints follow one function of time
OTHER_MOTION = 6.0  # times as uncertain, from which the fitted motion says too little of other motion

# what changed between the fitted logs and one that was only predicted
CHANGED_TIMES = 4.0  # unseen residual over that of the training, beyond what values that are not known explain
CHANGED_LEAST = 0.1  # of the effort: below, no such ratio says that something is wrong
LOAD_TIMES = 3.0  # the same where a load would explain it, over the joints
LOAD_FALLS = 0.4  # what a load must leave of the residual to be believed
HIGHEST = 5.0  # a joint without effort may have any relative residual, which counts as this

# motion that leaves what was fitted
FASTER = 1.25  # speed over the highest of the fit from which it is told
REFUTED = 2.0  # uncertain part of an effort over what was left of it, up to which the one is believed beside the other
OUTSIDE = 0.25  # part of the range of positions of the fit by which a motion must leave it
UNMOVED = 2.0  # times its range: a joint that goes so far beyond it was hardly moved, and limits what the fit knows

# logs that are called unseen
SHARED = 0.1  # of its rows, equal to fitted ones or with their noise: less is an overlap at the ends
COPIED = 0.4  # noise of the difference over that of two logs: 1 of two runs, 0.5 where one is hardly noisy, 0 of copies
COPIED_PART = 0.3  # of the rows: stretches of two runs of one programme agree by chance in up to a quarter
SAME_MOTION = 1e-3  # squared difference of positions, over their variance: controllers repeat programmes better

# fits of commands, of how the joints lag
LAG_MOST = 1 / 3  # a model that leaves more on unseen motion is not good
LAG_JOINT = 0.5  # of one joint's, from which the joint is a limit: servos whose friction sticks leave less
TIE = 1.02  # residual over that of a rival up to which a model is no worse, as one within `MORE` of the lag is
TOGETHER = 3.0  # deviation of damping over that of delay and damping together, from which the motion tells only the sum
LEFT_PART = 1 / 3  # of a single log, at its end, that is left out and predicted: as long a motion as tells all joints

# fits of commands: friction that changes with the position is added at a joint
PLACED_SURE = 6.0  # deviations of the first step of a fit: joints without it stay below
PLACED_PART = 0.3  # of what the joint leaves, as a sum of squares, that it must take: less is no linkage
PLACED_BETTER = 0.95  # of what a left-out part leaves without it

# fits of commands: a joint that was fitted as rigid is called elastic
WOUND_TOGETHER = 0.5  # correlation of motor less link position with the effort, of two encoders
WOUND_CHANCE = 6.0  # deviations of such a correlation that chance makes
SPRING_LOUD = 2.0  # residual over the encoder's noise from which something is missing at all
SPRING_SURE = 4.0  # deviations of its compliance
SPRING_PART = 0.6  # of the joint's residual, as a sum of squares, that springs must explain: friction can take less

# fits of commands: stretches in which something else pushes the robot
PUSHED = 4.0  # times what a stretch in motion usually leaves: noise and wrong friction do not come near
PUSHED_AFTER = 2.0  # the same after pushed ones, while the robot swings back or sticks where it was pushed to
PUSHED_LEFT = 1 / 3  # of the lag in a stretch, below which the loop explains it whatever the others leave
PUSHED_MOST = 0.2  # of all stretches; beyond, the model is at fault and not the motion

# fits of geometry: errors of readings, beside those that base and tool alone leave
WORTH = 0.8  # of these: less of a gain is within what another set of postures changes
WORSE_POSTURES = 1.5  # times what is left where it was fitted: more says that corrections belong to those postures
WORSE_REGIONS = 3.0  # the same for regions left out: the fits that are judged there lack the region's postures
COARSE = 0.01  # of the reach: more is another robot or another reading, not a calibration
LIKELY = {"zeros": 0.35, "lengths": 0.02, "angles": 0.1}  # rad, m: beyond these a file is of another robot, not inexact
TURNED_AWAY = 0.05  # rad, of rotations of poses: cameras and trackers leave less than 0.01
BY_PRIOR = 0.5  # part of the prior's variance above which the prior decided a value

# fits of wrenches at rest
WRENCH_MOST = 0.1  # of the tool's wrench: a compensation that leaves a tenth of the weight is hardly one
WRENCH_ARM = 0.01  # m: moments left over the weight; a centre of mass that is a centimetre off is no calibration
WRENCH_RIGHT = 0.1  # of the varying forces: where a rigid tool leaves less, with a positive mass, they are read right
WRENCH_HALF = 0.5  # of what the stated reading leaves, that another must leave at most to be named
WRENCH_MENDED = 0.5  # of the varying forces: a reading that leaves more explains nothing
WRENCH_FAR = 1.0  # m from the sensor to the centre of mass: tools are nearer, moments in N mm make it 1000 times as far
WRENCH_SURE, WRENCH_MASS = 5.0, 0.02  # deviations, and part of the mass, from which another file has another tool
WRENCH_TILT = math.radians(1)  # of mount or gravity, from which it is told

# wrenches of sensors beside joints
SENSOR_WRONG = 0.1  # of the varying wrench: a rigid load in the right axes leaves noise, a few hundredths
SENSOR_BETTER = 0.3  # of what the stated reading leaves, that another must leave at most to be named
INERTIAL_WRONG = (
    0.5  # disagreement of gyroscope, accelerometer and attitude, of 1 for each: right logs have 0.02 to 0.07
)
INERTIAL_BETTER = 0.5  # of what the stated reading leaves, that another must leave at most to be named
FLOATING_WRONG = 0.05  # of the efforts of a floating base: a right set-up leaves a few hundredths at most
EFFORT_WRONG = 0.5  # the same of one effort, some of which are mostly noise: other set-ups are then tried
FLOATING_BETTER = 0.5  # of what the stated reading leaves, that another must leave at most to be named
SATURATED = 0.01  # part of samples at one exact extreme value; noise reaches its extreme once


def bound(friction: float) -> float:
    """Largest relative residual beyond noise of a good model, for a given friction fraction of the effort."""
    return min(math.hypot(SMALL, FRICTION * friction), LARGEST)
