"""CUDA C++ for least squares without storing the matrix: products of a tile of samples in shared memory.

Each thread computes the entries of one sample; then warps multiply columns, eight by eight, with FP64 tensor cores
(`mma`), four samples of one row (joint) at a time.  Blocks of columns that are zero in a row are skipped.  A thread
block keeps its sums in registers over all its tiles and writes them once.  Sums are in double precision, whatever
that of the entries.  Compiled as C++ the same text runs on the host, the lanes of a warp one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from minertia.algebra.expr import Expr
from minertia.codegen.kernels.task import PRECONDITIONED, RESIDUAL
from minertia.codegen.options import Arithmetic
from minertia.codegen.program import Program
from minertia.codegen.targets import cuda
from minertia.codegen.targets.c import CStyle, Renderer, schedule
from minertia.codegen.targets.cuda_columns import EDGE, Columns, Sum
from minertia.codegen.targets.cuda_least_squares_text import FILE
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError

PREFIX = "minertia"
PAD = 4  # samples between entries in shared memory, so that lanes meet different banks
LANES = 32
RESERVED = 1024  # bytes of shared memory that the system takes of every block
TENSOR, TENSOR_WIDE, PLAIN = "m8n8k4", "m16n8k4", "plain"
WIDTHS = {"double": 8, "float": 4}


@dataclass(frozen=True)
class Tuning:
    """Tuning parameters that affect only the speed.

    warps: largest number of warps per thread block that share a part of the sums.  samples: largest number
    of samples in a tile.  blocks: thread blocks per multiprocessor.  instruction: instruction that computes
    the products.  unroll: number of steps of a row that are unrolled.  is_early: whether the next samples
    are read before the current products. order: order in which the entries are computed.  sums: largest
    number of tiles of sums that one warp keeps, two doubles each in every lane.
    """

    warps: int = 4
    samples: int = 128
    blocks: int = 1
    instruction: str = TENSOR
    unroll: int = 2
    is_early: bool = True
    order: str = "rows"
    sums: int = 28


@dataclass(frozen=True)
class SumsKernel:
    """One mode (GRAM, RESIDUAL or PRECONDITIONED) of a program for a device with `shared` bytes per block.

    source: the text, with `minertia_sums` (many blocks of `threads`, `bytes` of shared memory) and `minertia_total`.
    """

    program: Program
    mode: int
    precision: str = "double"
    is_weighted: bool = False
    shared: int = 232_448
    tuning: Tuning = field(default_factory=Tuning)

    # ------------------------------------------------------------------ sizes

    @cached_property
    def columns(self) -> Columns:
        """Blocks of columns; a triangle fixes their order."""
        return Columns.of(self.program, is_fixed=self.mode == PRECONDITIONED)

    @property
    def rows(self) -> int:
        """Number of rows (joints) of a sample."""
        return len(self.columns.present)

    def reach(self, row: int) -> list[int]:
        """Blocks of a row that take part in products; with a triangle, all blocks from the row's first one on."""
        own = self.columns.blocks(row)
        return own if self.mode != PRECONDITIONED else list(range(own[0], self.columns.n_blocks))

    @cached_property
    def sums(self) -> list[Sum]:
        """All tiles of sums."""
        rows = range(self.rows)
        if self.mode == RESIDUAL:  # the residual stands in the last column; its square is wanted row by row
            last = self.columns.n_blocks - 1
            return [*(Sum(b, last) for b in range(last)), *(Sum(last, last, r) for r in rows)]
        met = {(a, b) for r in rows for a in self.reach(r) for b in self.reach(r) if a <= b}
        return [Sum(a, b) for a, b in sorted(met, key=lambda pair: (pair[1], pair[0]))]

    @cached_property
    def parts(self) -> list[list[Sum]]:
        """Tiles assigned to each of the warps that share samples: equal work, in the order of tiles."""
        count = -(-len(self.sums) // self.tuning.sums)
        loads = np.array(
            [sum(s.takes(r) and {s.a, s.b} <= set(self.reach(r)) for r in range(self.rows)) for s in self.sums]
        )
        share = (np.cumsum(loads) - loads / 2) / max(1, loads.sum())
        place = np.minimum((share * count).astype(int), count - 1)
        return [[s for s, k in zip(self.sums, place, strict=True) if k == part] for part in range(count)]

    @property
    def most_sums(self) -> int:
        """Number of tiles of the largest part."""
        return max(len(part) for part in self.parts)

    @cached_property
    def slices(self) -> int:
        """Number of warps that share a part, each with its own samples of a tile; fewer if few samples fit."""
        most = max(1, min(self.tuning.warps, LANES // len(self.parts)))
        return next((k for k in range(most, 0, -1) if self._unit(k) <= self._room), 1)

    def _unit(self, slices: int) -> int:
        """Granularity of the samples of a tile: whole steps of each warp, whole rows of banks."""
        return int(np.lcm(EDGE, slices * (EDGE if self.mode == PRECONDITIONED else 4)))

    @property
    def _room(self) -> int:
        """Number of samples that fit into shared memory."""
        usable = (self.shared + RESERVED) // self.tuning.blocks - RESERVED
        return usable // (WIDTHS[self.precision] * (self.n_entries + 1)) - PAD

    @property
    def threads(self) -> int:
        """Number of threads of a block."""
        return LANES * self.slices * len(self.parts)

    @property
    def n_entries(self) -> int:
        """Number of values of one sample, including the effort of each row."""
        return len(self.columns.numbers)

    @cached_property
    def samples(self) -> int:
        """Number of samples of a tile: as many as fit."""
        unit = self._unit(self.slices)
        fits = min(self._room, max(self.tuning.samples, unit), self.threads) // unit * unit
        if fits < unit:
            raise MinertiaError(
                f"the {self.n_entries} entries of a sample are too many for the {self.shared // 1024} kB of "
                "shared memory of a block on this device; use fewer columns, or device cpu"
            )
        return fits

    @property
    def bytes(self) -> int:
        """Bytes of shared memory of a block."""
        return WIDTHS[self.precision] * (self.n_entries + 1) * (self.samples + PAD)

    @property
    def n_results(self) -> int:
        """Number of values that a warp writes."""
        return self.most_sums * EDGE * EDGE

    # ------------------------------------------------------------------ what the sums mean

    def tiles(self, results: Array) -> Iterator[tuple[Sum, Array]]:
        """Each tile with its 8 x 8 values, from results (parts, tiles, lanes, 2)."""
        shaped = results.reshape(len(self.parts), self.most_sums, EDGE, EDGE)
        for part, sums in enumerate(self.parts):
            yield from ((s, shaped[part, k]) for k, s in enumerate(sums))

    def matrix(self, results: Array) -> Array:
        """Symmetric matrix of all sums, columns in the program's order and tau."""
        size = len(self.columns.order)
        G = np.zeros((self.columns.n_blocks * EDGE,) * 2)
        for s, tile in self.tiles(results):
            G[s.a * EDGE : (s.a + 1) * EDGE, s.b * EDGE : (s.b + 1) * EDGE] += tile
        G = np.triu(G)[:size, :size]
        place = np.argsort(self.columns.order)
        return np.asarray((G + np.triu(G, 1).T)[np.ix_(place, place)])

    def gradient_and_squares(self, results: Array) -> tuple[Array, Array]:
        """Y'rho and the sum of squares of rho of each row, where rho is the residual."""
        squares, corner = np.zeros(self.rows), (len(self.columns.order) - 1) % EDGE
        for s, tile in self.tiles(results):
            if s.row is not None:
                squares[s.row] = tile[corner, corner]
        return self.matrix(results)[:-1, -1], squares

    def factors(self, inverse: Array) -> Array:
        """Inverse of a triangle (columns, columns) in the order of the lanes; tau is unchanged."""
        size, width = len(self.columns.order), self.columns.n_blocks * EDGE
        padded = np.zeros((width, width))
        padded[: size - 1, : size - 1] = np.triu(inverse)
        padded[size - 1, size - 1] = 1.0
        lane = np.arange(LANES)
        pieces = [
            padded[a * EDGE + 4 * half + lane % 4, b * EDGE + lane // 4]
            for b in range(self.columns.n_blocks)
            for a in range(b + 1)
            for half in range(2)
        ]
        return np.concatenate(pieces)

    # ------------------------------------------------------------------ text

    @cached_property
    def style(self) -> CStyle:
        """C style with the arithmetic of the entries."""
        return CStyle(PREFIX, Arithmetic(self.precision, "own"))

    @cached_property
    def source(self) -> str:
        """Text of the .cu file."""
        entries = _Entries(self.program, self.style, self.columns, self.tuning.order).text()
        helpers = cuda.sign(self.style) if f"{PREFIX}_sign(" in entries else ""
        helpers += cuda.sincos(self.style) if f"{PREFIX}_sincos(" in entries else ""
        is_own = len(self.parts) == 1 and self.samples == self.threads
        arrays = [*(port.name for port in self.program.inputs), "tau", "weight"]
        return FILE.substitute(
            real=self.precision,
            rows=self.rows,
            entries=self.n_entries,
            columns=len(self.columns.order) - 1,
            samples=self.samples,
            pad=PAD,
            parts=len(self.parts),
            slices=self.slices,
            sums=self.most_sums,
            threads=self.threads,
            blocks=self.tuning.blocks,
            is_weighted=int(self.is_weighted),
            is_residual=int(self.mode == RESIDUAL),
            is_plain=int(self.tuning.instruction == PLAIN),
            wait="__syncwarp()" if is_own else "__syncthreads()",
            is_early=int(self.tuning.is_early),
            helpers=helpers,
            body=entries,
            arguments=",\n    ".join(
                f"const real *MINERTIA_RESTRICT {n}, long long {n}_row, long long {n}_entry" for n in arrays
            ),
            names=", ".join(f"{n}, {n}_row, {n}_entry" for n in arrays),
            arrays="".join(f"  const real *{n}; long long {n}_row, {n}_entry;\n" for n in arrays),
            fields="".join(f"  real {port.name}[{port.size}];\n" for port in self.program.inputs),
            loads="\n".join(self._loads()),
            own="".join(f"  const real *const {n} = own.{n}; (void){n};\n" for n in arrays[:-2]),
            efforts="\n".join(self._efforts()),
            zeros="\n".join(self._zeros()),
            cases="".join(self._case(part) for part in range(len(self.parts))),
        )

    def _loads(self) -> Iterator[str]:
        sizes = [(port.name, port.size) for port in self.program.inputs] + [("tau", self.rows)]
        for name, size in [*sizes, *([("weight", self.rows)] if self.is_weighted else [])]:
            place = f"given.{name}[i * given.{name}_row + k * given.{name}_entry]"
            yield f"#pragma unroll\n  for (int k = 0; k < {size}; ++k) own.{name}[k] = {place};"

    def _efforts(self) -> Iterator[str]:
        for row in range(self.rows):
            number = self.columns.numbers[row, len(self.columns.order) - 1]
            value = f"(real)rho[{row}]" if self.mode == RESIDUAL else f"SCALED({row}, own.tau[{row}])"
            yield f"  cell[{number} * PITCH] = {value};"

    def _zeros(self) -> Iterator[str]:
        for row in range(self.rows):
            first, last = self.columns.row_range(row)
            yield f"  if (own.weight[{row}] == 0)\n#pragma unroll 1"
            yield f"    for (int e = {first}; e < {last}; ++e) cell[e * PITCH] = 0;"

    def _case(self, part: int) -> str:
        lines = [f"  case {part}:"]
        write = self._triangle_row if self.mode == PRECONDITIONED else self._row
        for row in range(self.rows):
            reach = set(self.reach(row))
            own = [(k, s) for k, s in enumerate(self.parts[part]) if s.takes(row) and {s.a, s.b} <= reach]
            if own:
                lines += write(row, own)
        return "\n".join([*lines, "    break;\n"])

    def _loop(self, samples: int) -> list[str]:
        return [
            f"#pragma unroll {self.tuning.unroll}",
            f"    for (int step = 0; step < SAMPLES / SLICES / {samples}; ++step) {{",
            f"      const real *at = from + {samples} * step;",
        ]

    def _row(self, row: int, own: Sequence[tuple[int, Sum]]) -> list[str]:
        """Statements for the products of a row's columns."""
        needed = sorted({block for _, s in own for block in (s.a, s.b)})
        lines = self._loop(4)
        for block in needed:
            place = _place("COLUMN", self.columns.first(row, block), self.columns.mask(row, block))
            lines.append(f"      WIDE f{block}; EACH(f{block}, at[{place}]);")
        lines += self._products(own, "f{}")
        return [*lines, "    }"]

    def _products(self, own: Sequence[tuple[int, Sum]], name: str) -> Iterator[str]:
        """One `mma` for each tile, or for two tiles with the same second block."""
        waiting = list(own)
        while waiting:
            k, s = waiting.pop(0)
            a, b = name.format(s.a), name.format(s.b)
            is_pair = self.tuning.instruction == TENSOR_WIDE and waiting and _are_pair(s, waiting[0][1])
            if is_pair:
                n, other = waiting.pop(0)
                yield f"      MULTIPLY2(sums, {k}, {n}, {a}, {name.format(other.a)}, {b});"
            else:
                yield f"      MULTIPLY(sums, {k}, {a}, {b});"

    def _triangle_row(self, row: int, own: Sequence[tuple[int, Sum]]) -> list[str]:
        """Statements for a row's products after multiplying it by a triangle's inverse, eight samples at a time.

        The two results of a lane are its operands of the next product: its samples 0 2 4 6, then 1 3 5 7.
        """
        needed = sorted({block for _, s in own for block in (s.a, s.b)})
        lines = self._loop(EDGE)
        given = [b for b in self.columns.blocks(row) if b <= needed[-1]]
        for block in given:
            first, mask = self.columns.first(row, block), self.columns.mask(row, block)
            for half in range(2):
                place = _place("TURNED", first, mask, f"4 * {half}")
                lines.append(f"      WIDE y{block}_{half}; EACH(y{block}_{half}, at[{place}]);")
        for block in needed:
            lines.append(f"      PAIR(z{block});")
            for a in (a for a in given if a <= block):
                for half in range(2):
                    number = (block * (block + 1) // 2 + a) * 2 + half
                    lines.append(f"      FACTOR(z{block}, {number}, y{a}_{half});")
            lines.append(f"      WIDE f{block}_0; EACH2(f{block}_0, z{block}, 0);")
            lines.append(f"      WIDE f{block}_1; EACH2(f{block}_1, z{block}, 1);")
        for half in range(2):
            lines += self._products(own, f"f{{}}_{half}")
        return [*lines, "    }"]


def _are_pair(one: Sum, other: Sum) -> bool:
    """Whether two tiles share one `mma`; the same two in every row, so that their registers stay adjacent."""
    return one.b == other.b and one.a % 2 == 0 and other.a == one.a + 1


def _place(kind: str, first: int, mask: int, *rest: str) -> str:
    arguments = [str(first), *([] if mask == 255 else [hex(mask)]), *rest]
    return f"{'' if mask == 255 else 'SOME_'}{kind}({', '.join(arguments)})"


class _Entries(Renderer):
    """Straight-line code of all entries, each stored as soon as it is computed to save registers."""

    def __init__(self, program: Program, style: CStyle, columns: Columns, order: str) -> None:
        super().__init__(program, style)
        rows, count = program.ports[0].shape
        places = [(r, c) for r in range(rows) for c in range(count) if columns.present[r, c]]
        if order == "columns":
            places.sort(key=lambda place: (place[1], place[0]))
        self.waiting: dict[int, list[tuple[int, int]]] = {}
        self.numbers, self.constant = columns.numbers, list[tuple[int, int]]()
        found = []
        for place in places:
            output = self._output_at(place)
            if isinstance(output, Expr) and output.value is None:
                found.append(output)
                self.waiting.setdefault(output.id, []).append(place)
            else:
                self.constant.append(place)
        self.order = schedule(program.graph, found)

    def _output_at(self, place: tuple[int, int]) -> Expr | float:
        return self.program.outputs[place[0] * self.program.ports[0].shape[1] + place[1]]

    def text(self) -> str:
        names: dict[int, str] = {}
        lines = self._statements(self.order, names)
        for node in list(self.waiting):  # inputs, sines and cosines as they are
            lines += self._puts(node, names)
        lines += [self._put(place, names) for place in self.constant]
        return "\n".join(lines)

    def _statement(self, node: int, names: dict[int, str]) -> str:
        line = super()._statement(node, names)
        return "\n".join([line, *self._puts(node, names)])

    def _puts(self, node: int, names: dict[int, str]) -> list[str]:
        return [self._put(place, names) for place in self.waiting.pop(node, [])]

    def _put(self, place: tuple[int, int], names: dict[int, str]) -> str:
        return f"  PUT({self.numbers[place]}, {place[0]}, {place[1]}, {self._output(self._output_at(place), names)});"
