"""On-line monitor in C around the generated `watch_terms`: samples in, alarms out; no allocation, no globals.

The same statements as `identification/online`: a test compares both in double and single precision.
"""

from __future__ import annotations

from string import Template

from minertia.codegen import watch_rules as rules
from minertia.codegen.program import Program
from minertia.codegen.targets.c import CStyle, Rendered

PROGRAM = "watch_terms"

DECLARATIONS = Template("""
/* On-line watch of load and residuals: one call of ${p}_watch_step a sample.
   ${p}_watch_levels: what is normal; `minertia watch MODEL --normal LOGS --out DIR` writes them.
     rate [Hz]; gain [1/s]; b, a: b0 b1 b2 and a1 a2 of the low-pass; slow [rad/s, m/s]: below it friction of a
     joint is not known; sigma [N m, N], alike: residuals of each joint over a block, and how alike successive ones are;
     doubt: deviations of a load before anything is known of it; threshold: of the mean evidence; samples: in a block;
     settling: samples for which a joint must slide; velocities: 1 where qd is given, else it may be a null pointer.
   ${p}_watch: its memory; ${p}_watch_start sets it.  load: XX XY XZ YY YZ ZZ MX MY MZ M about the origin of the frame
     of joint $tip, with covariance root root' (upper triangle, row by row).  Moments of inertia whose deviation is as
     large as they are were not determined: do not enter them in a controller.
   since, raised, block: blocks counted from 1; block / rate * samples is a time.  joint: counted from 0. */
typedef struct {
  $real rate, gain, b[3], a[2], slow[$n], sigma[$n], alike[$n], doubt[10], threshold;
  int samples, settling, velocities;
} ${p}_watch_levels;

typedef struct {
  $real memory[2][$signals], window[5][$signals], held[$n][11], sums[$n][11];
  $real before[$n][11], likeness[$n], recent[$n], evidence[$n][$steps];
  $real information[55], moment[10], squares[2], load[10], root[55], mean_evidence;
  int counts[$n], slides[$n], last[$n], is_high[$n];
  int is_begun, known, filled, block, since, raised, joint, rows;
} ${p}_watch;

enum { ${P}_WATCH_NOTHING = $nothing, ${P}_WATCH_SUSPECTED = $suspected, ${P}_WATCH_LOAD = $load,
       ${P}_WATCH_RESIDUAL = $residual };

void ${p}_watch_start(${p}_watch *MINERTIA_RESTRICT watch);

/* in  q[$n], tau[$n] [N m, N] at the joints, qd[$n] or null$extra_text
   ${P}_WATCH_SUSPECTED when an alarm is raised (joint: whose residual shows it most); later, when it is named,
   ${P}_WATCH_LOAD (load, root: the new one) or ${P}_WATCH_RESIDUAL (joint); else ${P}_WATCH_NOTHING. */
int ${p}_watch_step(const ${p}_watch_levels *MINERTIA_RESTRICT levels, ${p}_watch *MINERTIA_RESTRICT watch,
    const $real *q, const $real *tau, const $real *qd$extra);
""")

DEFINITIONS = Template("""
void ${p}_watch_start(${p}_watch *MINERTIA_RESTRICT watch)
{
  static const ${p}_watch empty;
  *watch = empty;
  watch->raised = -1;
  for (int j = 0; j < $n; ++j)
    watch->recent[j] = $one;
}

/* the low-pass of all signals; at the first sample as if it had lasted */
static void ${p}_watch_smooth(const ${p}_watch_levels *levels, ${p}_watch *watch, $real *x)
{
  const $real *const b = levels->b, *const a = levels->a;
  for (int k = 0; k < $signals; ++k) {
    const $real value = x[k];
    if (!watch->is_begun) {
      watch->memory[1][k] = (b[2] - a[1]) * value;
      watch->memory[0][k] = (b[1] - a[0]) * value + watch->memory[1][k];
    }
    x[k] = b[0] * value + watch->memory[0][k];
    watch->memory[0][k] = b[1] * value - a[0] * x[k] + watch->memory[1][k];
    watch->memory[1][k] = b[2] * value - a[1] * x[k];
  }
  watch->is_begun = 1;
}

/* q, tau, qd: as they are, or two samples late with five-point differences; 0 while there are fewer than five */
static int ${p}_watch_state(const ${p}_watch_levels *levels, ${p}_watch *watch, $real *x)
{
  if (levels->velocities)
    return 1;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < $signals; ++k)
      watch->window[i][k] = watch->window[i + 1][k];
  for (int k = 0; k < $signals; ++k)
    watch->window[4][k] = x[k];
  if (++watch->known < 5)
    return 0;
  watch->known = 5;
  for (int k = 0; k < $n; ++k) {
    const $real far = watch->window[4][k] - watch->window[0][k], near = watch->window[3][k] - watch->window[1][k];
    x[$twice + k] = ($eight * near - far) * (levels->rate / $twelve);
  }
  for (int k = 0; k < $twice; ++k)
    x[k] = watch->window[2][k];
  return 1;
}

/* residual and columns of a load behind gain / (s + gain), added to the sums of joints that slide */
static void ${p}_watch_filter(const ${p}_watch_levels *levels, ${p}_watch *watch, const $real *x, int is_first$extra)
{
  $real p[$n], p_rate[$n], Yp[$columns], Yc[$columns];
  const $real step = levels->gain / levels->rate;
  const $real share = step / ($two + step), past = ($two - step) / ($two + step);
  ${p}_$program(x, x + $twice, x + $n$passed, p, p_rate, Yp, Yc);
  for (int j = 0; j < $n; ++j) {
    const $real speed = x[$twice + j];
    watch->slides[j] = speed > levels->slow[j] || speed < -levels->slow[j] ? watch->slides[j] + 1 : 0;
    const int is_counted = watch->slides[j] > levels->settling;
    if (is_counted)
      watch->slides[j] = levels->settling + 1; /* never more: a counter must not run over */
    watch->counts[j] += is_counted;
    for (int c = 0; c < 11; ++c) {
      const $real after = levels->gain * (c == 0 ? p[j] : Yp[10 * j + c - 1]);
      const $real input = (c == 0 ? p_rate[j] : -Yc[10 * j + c - 1]) + after;
      if (is_first)
        watch->held[j][c] = ($one - share) * input;
      const $real y = share * input + watch->held[j][c];
      watch->held[j][c] = share * input + past * y;
      if (is_counted)
        watch->sums[j][c] += c == 0 ? y - after : after - y;
    }
  }
}

/* one row of recursive least squares on the known load; row: y, then nothing; as in recursive_update */
static void ${p}_watch_refine(${p}_watch *watch, const $real *y, $real error)
{
  $real gain[10], alpha = $one;
  for (int k = 0; k < 10; ++k)
    gain[k] = $zero;
  for (int j = 0; j < 10; ++j) {
    $real f = $zero;
    for (int i = 0; i <= j; ++i)
      f += watch->root[i * 10 - i * (i + 1) / 2 + j] * y[i];
    const $real next = alpha + f * f;
    const $real ratio = sqrt$suffix(alpha / next), shrink = f / alpha;
    for (int i = 0; i <= j; ++i) {
      const $real entry = watch->root[i * 10 - i * (i + 1) / 2 + j];
      watch->root[i * 10 - i * (i + 1) / 2 + j] = ratio * (entry - shrink * gain[i]);
      gain[i] += f * entry;
    }
    alpha = next;
  }
  for (int k = 0; k < 10; ++k)
    watch->load[k] += gain[k] * (error / alpha);
}

static void ${p}_watch_forget(${p}_watch *watch)
{
  watch->since = watch->block;
  watch->rows = 0;
  watch->squares[0] = watch->squares[1] = $zero;
  for (int k = 0; k < 10; ++k)
    watch->moment[k] = $zero;
  for (int k = 0; k < 55; ++k)
    watch->information[k] = $zero;
}

/* a row for the load that may explain the suspicion */
static void ${p}_watch_suspect(${p}_watch *watch, const $real *row)
{
  const $real effort = row[0], *const y = row + 1;
  $real rest = effort;
  for (int i = 0, k = 0; i < 10; ++i) {
    rest -= y[i] * watch->load[i];
    watch->moment[i] += y[i] * effort;
    for (int c = i; c < 10; ++c, ++k)
      watch->information[k] += y[i] * y[c];
  }
  watch->squares[0] += rest * rest;
  watch->squares[1] += effort * effort;
  ++watch->rows;
}

/* the row of one joint: its evidence, and the known load */
static void ${p}_watch_row(${p}_watch *watch, int j, const $real *row)
{
  static const $real signs[$steps] = {$signs};
  const $real effort = row[0], *const y = row + 1;
  $real expected = $zero, spread = $one;
  for (int c = 0; c < 10; ++c) {
    $real f = $zero;
    for (int i = 0; i <= c; ++i)
      f += watch->root[i * 10 - i * (i + 1) / 2 + c] * y[i];
    spread += f * f;
    expected += y[c] * watch->load[c];
  }
  const $real deviation = sqrt$suffix(spread), w = (effort - expected) / deviation;
  const $real clipped = w > $clip ? $clip : (w < -$clip ? -$clip : w);
  watch->recent[j] = $recent * watch->recent[j] + ($one - $recent) * clipped * clipped;
  if (watch->is_high[j]) {
    watch->is_high[j] = watch->recent[j] > $quiet;
    return;
  }
  for (int k = 0; k < $steps; ++k) {
    const $real R = ($one + watch->evidence[j][k]) * exp$suffix(signs[k] * clipped - signs[k] * signs[k] / $two);
    watch->evidence[j][k] = R < $full ? R : $full;
  }
  if (spread > $one && watch->block == watch->since + 1) /* nothing is suspected; what is far off pulls no harder */
    ${p}_watch_refine(watch, y, clipped * deviation);
}

/* Whether a load explains what the rows since the suspicion began show.  Scaled by the doubt, so that single precision
   is enough, the information is U'U; the root of the covariance is then the inverse V of U. */
static int ${p}_watch_name(const ${p}_watch_levels *levels, ${p}_watch *watch)
{
  $real U[10][10], V[10][10], z[10], fitted[10], explained = watch->squares[0] - watch->squares[1];
  const $real *const doubt = levels->doubt;
  for (int i = 0, place = 0; i < 10; ++i)
    for (int c = i; c < 10; ++c, ++place) {
      $real sum = doubt[i] * watch->information[place] * doubt[c] + (i == c ? $one : $zero);
      for (int k = 0; k < i; ++k)
        sum -= U[k][i] * U[k][c];
      U[i][c] = i == c ? sqrt$suffix(sum) : sum / U[i][i];
    }
  for (int c = 0; c < 10; ++c) {
    z[c] = $zero;
    for (int i = c; i >= 0; --i) {
      $real sum = i == c ? $one : $zero;
      for (int k = i + 1; k <= c; ++k)
        sum -= U[i][k] * V[k][c];
      V[i][c] = sum / U[i][i];
      z[c] += V[i][c] * doubt[i] * watch->moment[i];
    }
  }
  for (int i = 0; i < 10; ++i) {
    fitted[i] = $zero;
    for (int c = i; c < 10; ++c)
      fitted[i] += doubt[i] * V[i][c] * z[c];
    explained += watch->moment[i] * fitted[i];
  }
  const $real mass = doubt[9] * V[9][9], known = watch->root[54];
  const $real change = fitted[9] - watch->load[9];
  const int is_load = change * change > $sure * (mass * mass + known * known)
      && explained > $by_load * (watch->squares[0] - ($real)watch->rows);
  if (is_load) {
    for (int i = 0, place = 0; i < 10; ++i) {
      watch->load[i] = fitted[i];
      for (int c = i; c < 10; ++c, ++place)
        watch->root[place] = doubt[i] * V[i][c];
    }
  } else {
    watch->is_high[watch->joint] = 1;
    watch->recent[watch->joint] = $clip * $clip;
  }
  for (int j = 0; j < $n; ++j)
    for (int k = 0; k < $steps; ++k)
      watch->evidence[j][k] = $zero;
  watch->raised = -1;
  ${p}_watch_forget(watch);
  return is_load ? $load : $residual;
}

/* one block: rows less what those that counted last tell of them, evidence, names */
static int ${p}_watch_block(const ${p}_watch_levels *levels, ${p}_watch *watch)
{
  ++watch->block;
  for (int j = 0; j < $n; ++j) {
    const int is_valid = 2 * watch->counts[j] >= levels->samples;
    const $real rho = watch->likeness[j];
    const $real scale = $one / sqrt$suffix($one - rho * rho);
    $real row[11];
    for (int c = 0; c < 11; ++c) {
      if (is_valid) {
        const $real value = watch->sums[j][c] / (($real)watch->counts[j] * levels->sigma[j]);
        row[c] = (value - rho * watch->before[j][c]) * scale;
        watch->before[j][c] = value;
      }
      watch->sums[j][c] = $zero;
    }
    watch->likeness[j] = is_valid ? levels->alike[j] : rho * levels->alike[j];
    watch->counts[j] = 0;
    if (!is_valid)
      continue;
    const int is_fresh = watch->last[j] <= watch->since + $skipped; /* the last row may be that of another load */
    if (!watch->is_high[j] && watch->block > watch->since + $skipped)
      ${p}_watch_suspect(watch, is_fresh ? watch->before[j] : row);
    watch->last[j] = watch->block;
    ${p}_watch_row(watch, j, row);
  }
  $real total = $zero, largest = -$one;
  int joint = 0;
  for (int j = 0; j < $n; ++j)
    for (int k = 0; k < $steps; ++k) {
      total += watch->evidence[j][k] / ($real)($n * $steps);
      joint = watch->evidence[j][k] > largest ? j : joint;
      largest = watch->evidence[j][k] > largest ? watch->evidence[j][k] : largest;
    }
  watch->mean_evidence = total;
  if (watch->raised >= 0)
    return watch->block - watch->since >= $named ? ${p}_watch_name(levels, watch) : $nothing;
  if (total < $begins || total < $begins_at * levels->threshold)
    ${p}_watch_forget(watch);
  if (total < levels->threshold)
    return $nothing;
  watch->raised = watch->block;
  watch->joint = joint;
  return $suspected;
}

int ${p}_watch_step(const ${p}_watch_levels *MINERTIA_RESTRICT levels, ${p}_watch *MINERTIA_RESTRICT watch,
    const $real *q, const $real *tau, const $real *qd$extra)
{
  $real x[$signals];
  for (int k = 0; k < $n; ++k) {
    x[k] = q[k];
    x[$n + k] = tau[k];
    x[$twice + k] = levels->velocities ? qd[k] : $zero;
  }
  const int was_known = levels->velocities ? watch->is_begun : watch->known == 5;
  ${p}_watch_smooth(levels, watch, x);
  if (!${p}_watch_state(levels, watch, x))
    return $nothing;
  ${p}_watch_filter(levels, watch, x, !was_known$given);
  if (++watch->filled < levels->samples)
    return $nothing;
  watch->filled = 0;
  return ${p}_watch_block(levels, watch);
}
""")


def watch_part(style: CStyle, program: Program, rendered: Rendered, tip: int) -> Rendered:
    """Declarations and definitions around `watch_terms`; tip: number of the joint that carries payloads, from 1."""
    n = program.ports[0].size
    real, text = style.precision, style.number
    more = []
    if any(port.name == "temperature" for port in program.inputs):
        more.append((f"const {real} *temperature", "temperature", f", temperature[{n}] [degC]"))
    if rendered.has_prepare:
        more.append((f"const {style.prefix}_{PROGRAM}_prepared *prepared", "prepared", ""))
    names = {
        "p": style.prefix,
        "P": style.prefix.upper(),
        "program": PROGRAM,
        "real": real,
        "suffix": style.suffix,
        "tip": tip,
        "n": n,
        "twice": 2 * n,
        "signals": 3 * n,
        "columns": 10 * n,
        "steps": len(rules.SIGNED),
        "signs": ", ".join(text(step) for step in rules.SIGNED),
        "extra": "".join(f", {declared}" for declared, _, _ in more),
        "given": "".join(f", {name}" for _, name, _ in more),
        "extra_text": "".join(told for _, _, told in more),
        **{"nothing": rules.NOTHING, "suspected": rules.SUSPECTED, "load": rules.LOAD, "residual": rules.RESIDUAL},
        **{word: text(value) for word, value in _NUMBERS.items()},
        "named": rules.NAMED,
        "skipped": rules.SKIPPED,
    }
    return Rendered(DECLARATIONS.substitute(names), DEFINITIONS.substitute(names, passed=names["given"]), False)


_NUMBERS = {
    **{"zero": 0.0, "one": 1.0, "two": 2.0, "eight": 8.0, "twelve": 12.0},
    **{
        "clip": rules.CLIP,
        "begins": rules.BEGINS,
        "begins_at": rules.BEGINS_AT,
        "sure": rules.SURE**2,
        "by_load": rules.BY_LOAD,
    },
    **{"quiet": rules.QUIET, "recent": rules.RECENT, "full": rules.FULL},
}
