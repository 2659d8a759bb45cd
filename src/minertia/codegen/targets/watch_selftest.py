"""Self-test of the on-line monitor: samples of a smooth motion, and the results of SciPy's filters."""

from __future__ import annotations

from string import Template
from typing import Any

import numpy as np

from minertia.codegen import watch_rules as rules
from minertia.codegen.program import Program
from minertia.codegen.setting import Setting
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.more_references import watched_terms
from minertia.codegen.targets.references import Arrays
from minertia.codegen.targets.selftest import MoreTests, parameter_inputs, tables
from minertia.io.arrays import Array

RATE, GAIN, CUTOFF, BLOCK, BLOCKS, SETTLING, RHO = 100.0, 30.0, 10.0, 8, 5, 1, 0.5

CALLS = Template("""  {
    static ${p}_watch watch;
    static ${p}_watch_levels levels;
    levels.rate = $rate;
    levels.gain = $gain;
    for (int k = 0; k < 3; ++k)
      levels.b[k] = watch_in_b[k];
    for (int k = 0; k < 2; ++k)
      levels.a[k] = watch_in_a[k];
    for (int k = 0; k < $n; ++k) {
      levels.sigma[k] = watch_in_sigma[k];
      levels.alike[k] = $rho;
    }
    for (int k = 0; k < 10; ++k)
      levels.doubt[k] = $one;
    levels.threshold = $threshold;
    levels.samples = $block;
    levels.settling = $settling;
$prepare    ${p}_watch_start(&watch);
    int told = 0;
    for (int k = 0; k < $samples; ++k)
      told += ${p}_watch_step(&levels, &watch, watch_in_q + k * $n, watch_in_tau + k * $n, 0$extra);
    failed += check("watch rows", watch.before[0], watch_out_rows, $n * 11, $tolerance);
    failed += check("watch evidence", watch.evidence[0], watch_out_evidence, $n * $steps, $tolerance);
    failed += told;
  }
""")


def watch_tests(style: CStyle, setting: Setting, program: Program, has_prepare: bool) -> MoreTests:
    """Tables and calls of the self-test; no payload is known and no alarm occurs in so short a motion."""
    inputs, outputs, parameters = _reference(setting)
    number, prefix, n = style.number, style.prefix, setting.robot.n
    named = {**inputs, **{name: parameters[name] for name in program.parameters}}
    prepare = extra = ""
    if any(port.name == "temperature" for port in program.inputs):
        extra += ", watch_in_temperature"
    else:
        named.pop("temperature", None)
    if has_prepare:
        given = ", ".join(f"watch_in_{name}" for name in program.parameters)
        prepare = f"    {prefix}_watch_terms_prepared prepared;\n"
        prepare += f"    {prefix}_watch_terms_prepare({given}, &prepared);\n"
        extra += ", &prepared"
    words: dict[str, Any] = {
        **{"p": prefix, "n": n, "rate": number(RATE), "gain": number(GAIN), "rho": number(RHO), "one": number(1.0)},
        **{"threshold": number(1e20), "block": BLOCK, "settling": SETTLING, "samples": len(inputs["q"])},
        **{"prepare": prepare, "extra": extra, "steps": len(rules.SIGNED)},
        "tolerance": "1e-9" if style.precision == "double" else "2e-3",
    }
    return MoreTests("\n" + tables(style, "watch", named, outputs), CALLS.substitute(words))


def _reference(setting: Setting) -> tuple[Arrays, Arrays, Arrays]:
    """Samples with the filter coefficients, the expected state after some blocks, and the parameters."""
    from scipy.signal import butter, lfilter, lfilter_zi  # here: 0.5 s that only this program needs

    rng = np.random.default_rng(5)
    parameters = parameter_inputs(setting, rng)
    n, count = setting.robot.n, BLOCK * BLOCKS + 4
    t = np.arange(count)[:, None] / RATE
    q = 0.5 * np.sin(2 * t + rng.uniform(0, 6, n)) + 0.05 * np.sin(9 * t + rng.uniform(0, 6, n))
    tau = 5 * np.sin(3 * t + rng.uniform(0, 6, n))
    warmth = rng.uniform(15.0, 60.0, (1, n)) if setting.takes("temperature") else np.zeros((0, n))
    b, a = butter(2, CUTOFF, fs=RATE)
    x = np.hstack([q, tau])
    x = lfilter(b, a, x, axis=0, zi=lfilter_zi(b, a)[:, None] * x[:1])[0]
    slope = (8 * (x[3:-1, :n] - x[1:-3, :n]) - (x[4:, :n] - x[:-4, :n])) * RATE / 12
    state = {"q": x[2:-2, :n], "qd": slope, "tau": x[2:-2, n:]}
    state |= {"temperature": np.tile(warmth, (len(slope), 1))} if len(warmth) else {}
    rows = _rows(watched_terms(setting, state, setting.standard_parameters(parameters)))
    sigma = 3 * np.sqrt(np.mean(rows[:, :, 0] ** 2, axis=0)) + 1e-3
    rows = rows / sigma[:, None]
    inputs = {"q": q, "tau": tau, "b": b, "a": a[1:], "sigma": sigma}
    inputs |= {"temperature": warmth[0]} if len(warmth) else {}
    return inputs, {"rows": rows[-1], "evidence": _evidence(rows[:, :, 0])}, parameters


def _rows(terms: Arrays) -> Array:
    """Block means of the residual and of the payload columns, (blocks, n, 11)."""
    from scipy.signal import lfilter

    share = GAIN / RATE / (2 + GAIN / RATE)
    after = GAIN * np.concatenate([terms["p"][..., None], terms["Yp"]], axis=2)
    x = np.concatenate([terms["p_rate"][..., None], -terms["Yc"]], axis=2) + after
    y = lfilter([share, share], [1.0, 2 * share - 1], x, axis=0, zi=(1 - share) * x[:1])[0]
    found = np.concatenate([(y - after)[..., :1], (after - y)[..., 1:]], axis=2)
    parts = found.reshape(BLOCKS, BLOCK, *found.shape[1:])
    first = parts[0, SETTLING:].mean(axis=0)  # a joint must slide for so many samples
    return np.concatenate([first[None], parts[1:].mean(axis=1)])


def _evidence(e: Array) -> Array:
    """Test statistic R of every joint and candidate step."""
    before = np.vstack([np.zeros((1, e.shape[1])), e[:-1]])
    w = (e - RHO * before) / np.sqrt(1 - RHO**2)
    w[0] = e[0]
    signs, R = np.array(rules.SIGNED), np.zeros((e.shape[1], len(rules.SIGNED)))
    for row in np.clip(w, -rules.CLIP, rules.CLIP):
        R = (1 + R) * np.exp(row[:, None] * signs - signs**2 / 2)
    return np.asarray(R)
