"""C source of a schedule: over blocks of samples, in vectors of the machine's width, and for one sample.

The surrounding text (native/vector.h, task.h, blocks.h) is the same for every program and for the interpreter; only
the straight-line code from inputs to outputs is generated here.  It contains no names of the robot.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from importlib.resources import files

from minertia.codegen.kernels.order import interleaved
from minertia.codegen.kernels.schedule import Schedule
from minertia.codegen.kernels.steps import KernelStep

BLOCK = 32  # samples
MANY_ENTRIES = 96  # of which 16 samples are taken at a time where vectors are wide, so that they stay in cache
FOUR = 4  # entries of a sample that are loaded together where there are as many
FEW_PARTS = 2  # sines and what follows: together in one function they overlap
SHORT_ROWS = 32  # doubles of all outputs of a sample whose memory is asked for between computations
AHEAD = 2  # vectors of samples by which inputs are asked for early where rows are short; one where they are long
MOST_LANES, LINE = 8, 8  # doubles of the widest vectors, and of what memory hands out at once
SHARE = 0.8  # of the last function, within which memory is asked for where rows are short
PART = 1200  # steps in one C function: compilers take more than twice the time for twice the text

# operation -> C; {k} is the constant, {a} {b} {c} the operands in order
TEXT = {
    "const": "{zero} + {k}",
    "copy": "{a}",
    "neg": "-{a}",
    "sqrt": "{sqrt}({a})",
    "sign": "{sign}({a})",
    "abs": "{abs}({a})",
    "exp": "{exp}({a})",
    "tanh": "{tanh}({a})",
    "add": "{a} + {b}",
    "sub": "{a} - {b}",
    "mul": "{a} * {b}",
    "div": "{a} / {b}",
    "nadd": "-({a} + {b})",
    "nmul": "-({a} * {b})",
    "fma": "{c} + {a} * {b}",
    "fnma": "{c} - {a} * {b}",
    "fms": "{a} * {b} - {c}",
    "fnms": "-({a} * {b}) - {c}",
    "addk": "{k} + {a}",
    "subk": "{k} - {a}",
    "mulk": "{k} * {a}",
    "divk": "{k} / {a}",
    "fmak": "{b} + {k} * {a}",
    "fmsk": "{k} * {a} - {b}",
}

FUNCTIONS = ("sqrt", "sign", "abs", "exp", "tanh")
VECTOR = {"zero": "(vd){{0}}"} | {name: f"vector_{name}" for name in FUNCTIONS}
NUMBER = {"zero": "0.0", "sqrt": "__builtin_sqrt", "sign": "number_sign", "abs": "__builtin_fabs"}
NUMBER |= {"exp": "exp", "tanh": "tanh"}


def batch_source(schedule: Schedule) -> str:
    """C source with `minertia_run(task)`, which runs tasks over blocks of samples."""
    is_large = len(schedule.entries) > MANY_ENTRIES
    is_matrix = len(schedule.ports) == 1 and len(schedule.ports[0].shape) == 2
    store = {e.value: f"W[{k} * STRIDE]" for k, e in enumerate(schedule.entries)}
    writer = _BatchWriter(schedule, "vd", VECTOR, store)
    has_short_rows = sum(port.size for port in schedule.ports) <= SHORT_ROWS
    arguments = "const double *const *restrict in, const double *const *ahead, vd *restrict W"
    bodies = list(writer.functions(arguments, _expected(schedule, has_short_rows), SHARE if has_short_rows else 0.0))
    advance = "\n".join(
        f"        row[{p}] += LANES * {port.size};"
        for p, (port, common) in enumerate(zip(schedule.inputs, schedule.common, strict=True))
        if not common
    )
    rows = ", ".join(f"in[{p}]" for p in range(len(schedule.inputs)))
    return f"""{_text("vector.h")}
#define VECTORS ({BLOCK} / LANES)
#define PORTION ({int(is_large)} && LANES >= 4 ? 16 / LANES : VECTORS)
#define LEAST_SQUARES {int(is_matrix)}
#define EXPECTS_ROWS {int(has_short_rows)}
{_text("task.h")}
{_text("blocks.h")}
{"".join(bodies)}
static void evaluate(const Task *task, int64_t first, const double *const *in, int vectors, vd *W)
{{
    (void)task, (void)first;
    const double *row[PORTS] = {{{rows or "0"}}};
    for (int n = 0; n < vectors; n++, W++) {{
        {_ahead(schedule, has_short_rows)}
{writer.calls("row, ahead, W", "        ")}
{advance}
    }}
}}

__attribute__((visibility("default"))) int minertia_run(const Task *task)
{{
    return run_task(task);
}}

__attribute__((visibility("default"))) int minertia_samples(void)
{{
    return SAMPLES;
}}

__attribute__((visibility("default"))) int minertia_lanes(void)
{{
    return LANES;
}}
"""


def _expected(schedule: Schedule, with_rows: bool) -> list[str]:
    """Prefetch statements for the inputs of the next samples and the output rows of the next block."""
    vectors = AHEAD if with_rows else 1
    inputs = [
        f"EXPECT(in[{p}] + {vectors} * LANES * {port.size}, {at}, LANES * {port.size}, 0);"
        for p, (port, common) in enumerate(zip(schedule.inputs, schedule.common, strict=True))
        if not common
        for at in range(0, MOST_LANES * port.size, LINE)
    ]
    rows = [
        f"EXPECT(ahead[{p}], {at}, LANES * {port.size}, 1);"
        for p, port in enumerate(schedule.ports)
        if with_rows
        for at in range(0, MOST_LANES * port.size, LINE)
    ]
    return among(inputs, rows)


def _ahead(schedule: Schedule, with_rows: bool) -> str:
    """C text of the addresses of the next block's output rows, for prefetching.

    In modes without output rows the address is that of the workspace, which is written anyway.
    """
    if not with_rows:
        return "const double *const *const ahead = 0;"
    places = [
        f"task->mode == ROWS ? task->output[{p}] + (first + (n + VECTORS) * LANES) * {port.size} : (const double *)W"
        for p, port in enumerate(schedule.ports)
    ]
    return f"const double *const ahead[] = {{{', '.join(places)}}};"


def among(lines: Sequence[str], others: Sequence[str], share: float = 1.0) -> list[str]:
    """Insert other lines at equal distances within the first fraction `share` of the lines."""
    placed = [((k + 1) / max(len(lines), 1), 0, k) for k in range(len(lines))]
    placed += [(share * (k + 0.5) / len(others), 1, k) for k in range(len(others))]
    return [(lines, others)[which][k] for _, which, k in sorted(placed)]


def single_source(schedule: Schedule) -> str:
    """C source with `minertia_call(state, in, out)` for one sample; sines and cosines are evaluated together."""
    store: dict[int, str] = {}
    for entry in schedule.entries:
        store.setdefault(entry.value, f"out[{entry.port}][{entry.position}]")
    writer = _BatchWriter(schedule, "double", NUMBER, store)
    bodies = list(writer.functions("const double *const *restrict in, double *const *restrict out"))
    zeros = "\n".join(f"    out[{p}][{k}] = 0.0;" for p, k in _constant_zeros(schedule))
    return f"""#if defined(__AVX__)
#define LANES 4 /* wider vectors would slow down the scalar code behind them */
#endif
{_text("vector.h")}
INLINE double number_sign(double x)
{{
    return x != x ? x : (double)((x > 0) - (x < 0));
}}

{"".join(bodies)}
__attribute__((visibility("default")))
void minertia_call(const void *state, const double *const *in, double *const *out)
{{
    (void)state;
{writer.calls("in, out", "    ")}
{zeros}
}}
"""


def _constant_zeros(schedule: Schedule) -> Iterator[tuple[int, int]]:
    present = {(e.port, e.position) for e in schedule.entries}
    for p, port in enumerate(schedule.ports):
        yield from ((p, k) for k in range(port.size) if (p, k) not in present)


class _BatchWriter:
    """Straight-line code of a schedule as one or more C functions.

    Sines and cosines of one stage are evaluated together, in arrays.  Other values passed between functions also use
    an array.
    """

    def __init__(self, schedule: Schedule, real: str, names: Mapping[str, str], store: Mapping[int, str]) -> None:
        self.schedule, self.real, self.store = schedule, real, store
        operands = {letter: f"{{{letter}}}" for letter in "abck"}
        self.text = {operation: text.format(**operands, **names) for operation, text in TEXT.items()}
        self.parts: list[tuple[list[KernelStep], list[KernelStep]]] = []
        inputs = {step.results[0]: step.operands for step in schedule.steps if step.operation == "load"}
        for plain, trig in schedule.stages():
            trig.sort(key=lambda step: inputs.get(step.operands[0], (len(schedule.inputs), 0)))  # side by side
            pieces = [plain[k : k + PART] for k in range(0, len(plain), PART)] or [[]]
            pieces = [interleaved(piece) for piece in pieces]
            self.parts += [(piece, []) for piece in pieces[:-1]] + [(pieces[-1], trig)]
        self.place: dict[int, str] = {}  # of values that are read from an array
        self.n_trig = self._place_trig()
        self.n_crossing = self._place_crossing()

    def _padded(self, count: int) -> int:
        """Padded array size: single values use vectors of up to 8; a vector of samples needs no padding."""
        return count if self.real == "vd" else -(-count // 8) * 8

    def _place_trig(self) -> int:
        count = 0
        for _, trig in self.parts:
            for k, step in enumerate(trig):
                sine, cosine = step.results
                self.place |= {sine: f"sine[{count + k}]", cosine: f"cosine[{count + k}]"}
            count += self._padded(len(trig))
        return count

    def _place_crossing(self) -> int:
        made_in: dict[int, int] = {}
        count = 0
        for n, (plain, trig) in enumerate(self.parts):
            made_in |= {v: n for step in plain for v in step.results}
            for v in (v for step in (*plain, *trig) for v in step.reads):
                if v not in self.place and made_in[v] != n:
                    self.place[v] = f"cross[{count}]"
                    count += 1
        return count

    def calls(self, arguments: str, indent: str) -> str:
        """C text of the arrays and of the function calls in order."""
        sizes = {"sine": self.n_trig, "cosine": self.n_trig, "cross": self.n_crossing}
        lines = [f"_Alignas(64) {self.real} {name}[{max(size, 1)}];" for name, size in sizes.items()]
        lines += [f"part{n}({arguments}, sine, cosine, cross);" for n in range(len(self.parts))]
        return "\n".join(indent + line for line in lines)

    def functions(self, arguments: str, expected: Sequence[str] = (), share: float = 0.0) -> Iterator[str]:
        """C text of the functions; prefetch statements are in the first fraction `share` of the last one."""
        start = 0
        kind = "__attribute__((noinline))" if len(self.parts) > FEW_PARTS else "inline __attribute__((always_inline))"
        arrays = ", ".join(f"{self.real} *restrict {name}" for name in ("sine", "cosine", "cross"))
        for n, (plain, trig) in enumerate(self.parts):
            is_last = n == len(self.parts) - 1
            lines = [*among(list(self._plain(plain)), expected if is_last else (), share), *self._trig(trig, start)]
            start += self._padded(len(trig))
            body = "\n".join(f"    {line}" for line in lines)
            yield f"""static {kind} void part{n}({arguments}, {arrays})
{{
{body}
    (void)in, (void)sine, (void)cosine, (void)cross;
}}

"""

    def _plain(self, steps: Sequence[KernelStep]) -> Iterator[str]:
        known: set[int] = set()
        loads = {step.operands: step.results[0] for step in steps if step.operation == "load"}
        for step in steps:
            for v in step.reads:
                if v not in known:  # made elsewhere: fetched before its first use
                    known.add(v)
                    yield f"const {self.real} t{v} = {self.place[v]};"
            if step.results[0] in known:  # came with the entries beside it
                continue
            made = [step.results[0]]
            if step.operation == "load" and self._is_loaded_with_others(step):
                made = yield from self._load_together(step, loads, known)
            else:
                yield f"const {self.real} t{made[0]} = {self._text(step)};"
            known.update(made)
            for v in made:
                yield from (f"{place} = t{v};" for place in (self.store.get(v), self.place.get(v)) if place is not None)

    def _is_loaded_with_others(self, load: KernelStep) -> bool:
        port = load.operands[0]
        return self.real == "vd" and not self.schedule.common[port] and self.schedule.inputs[port].size > 1

    def _load_together(
        self, load: KernelStep, loads: Mapping[tuple[int, ...], int], known: Collection[int]
    ) -> Generator[str, None, list[int]]:
        """Load adjacent entries of each sample together; return the values loaded here."""
        port, entry = load.operands
        size = self.schedule.inputs[port].size
        first, count = _beside(entry, size)
        found = [loads.get((port, first + k)) for k in range(count)]
        made = [v for v in found if v is not None and v not in known]  # others came with entries before them
        names = [f"t{v}" if v in made else f"unused{load.results[0]}_{k}" for k, v in enumerate(found)]
        yield f"{self.real} {', '.join(names)};"
        places = ", ".join(f"&{name}" for name in names)
        yield f"load_{'two' if count == 2 else 'four'}(in[{port}] + {first}, {size}, {places});"
        return made

    def _trig(self, trig: list[KernelStep], start: int) -> Iterator[str]:
        if not trig:
            return
        count, padded = len(trig), self._padded(len(trig))
        angles = [self.place.get(v, f"t{v}") for step in trig for v in step.reads] + ["0.0"] * (padded - count)
        yield f"_Alignas(64) {self.real} angle[{padded}];"
        if self.real == "vd":
            yield from (f"angle[{k}] = {angle};" for k, angle in enumerate(angles))
        else:
            yield from (f"put_four(angle + {k}, {', '.join(angles[k : k + 4])});" for k in range(0, padded, 4))
        vectors = f"{count}" if self.real == "vd" else f"({count} + LANES - 1) / LANES"
        yield f"sincos_many({vectors}, (const vd *)angle, (vd *)(sine + {start}), (vd *)(cosine + {start}));"
        for v in (v for step in trig for v in step.results):
            if v in self.store:
                yield f"{self.store[v]} = {self.place[v]};"

    def _text(self, step: KernelStep) -> str:
        if step.operation == "load":
            port, entry = step.operands
            place = f"in[{port}][{entry}]"
            if self.real == "double":
                return place
            if self.schedule.common[port]:
                return f"(vd){{0}} + {place}"
            return f"load_one(in[{port}] + {entry}, {self.schedule.inputs[port].size})"
        a, b, c = (*step.operands, 0, 0, 0)[:3]
        text = self.text[step.operation]
        return text.format(a=f"t{a}", b=f"t{b}", c=f"t{c}", k=number(step.constant) if "{k}" in text else "")


def _beside(entry: int, size: int) -> tuple[int, int]:
    """First entry and number of entries of a sample that are loaded together with a given one."""
    whole = size // FOUR * FOUR
    if entry < whole:
        return entry // FOUR * FOUR, FOUR
    if size - whole == FOUR - 1 and whole:  # three are left: once more the one before them
        return size - FOUR, FOUR
    return min(whole + (entry - whole) // 2 * 2, size - 2), 2


def number(value: float) -> str:
    """Exact C literal of a double; negative ones in brackets."""
    if math.isnan(value):
        return '__builtin_nan("")'
    if math.isinf(value):
        return "__builtin_inf()" if value > 0 else "(-__builtin_inf())"
    return repr(value) if math.copysign(1.0, value) > 0 else f"({value!r})"


def _text(name: str) -> str:
    return (files("minertia.codegen.kernels") / "native" / name).read_text(encoding="utf-8")
