"""The self-test of CUDA code: every function on the host, every kernel on the device, against reference values."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from minertia.codegen.program import Program
from minertia.codegen.targets import selftest
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.cuda import STAGED, THREADS
from minertia.codegen.targets.references import Arrays
from minertia.codegen.targets.selftest import COMPARED

SELFTEST = Template("""/* Self-test of $name: on the host always, on the device where this is compiled by nvcc. */
#include "$name.cuh"
#include <cstdio>
#include <vector>

$tables
static double distance(double a, double b) { return a > b ? a - b : b - a; }

static int check(const char *name, const char *where, const $real *found, const $real *wanted, int n, double tolerance)
{
$compared  std::printf("%-34s %-13s %s  ", name, where, is_good ? "ok" : "FAILED");
  std::printf("(largest difference %.3g of %.3g)\\n", worst, largest);
  return is_good ? 0 : 1;
}

#if defined(__CUDACC__)
static int failures = 0;

static void must(cudaError_t error, const char *what)
{
  if (error != cudaSuccess) {
    std::printf("%s: %s\\n", what, cudaGetErrorString(error));
    ++failures;
  }
}

/* A device array with the entries of a table, joint-major where asked. */
static $real *on_device(const $real *values, int samples, int size, bool is_joint_major)
{
  std::vector<$real> copy((size_t)samples * size);
  for (int i = 0; i < samples; ++i)
    for (int k = 0; k < size; ++k)
      copy[is_joint_major ? (size_t)k * samples + i : (size_t)i * size + k] = values ? values[i * size + k] : 0;
  $real *found = nullptr;
  must(cudaMalloc(&found, copy.size() * sizeof($real)), "cudaMalloc");
  must(cudaMemcpy(found, copy.data(), copy.size() * sizeof($real), cudaMemcpyHostToDevice), "cudaMemcpy");
  return found;
}

static std::vector<$real> from_device(const $real *array, int samples, int size, bool is_joint_major)
{
  std::vector<$real> copy((size_t)samples * size), found((size_t)samples * size);
  must(cudaMemcpy(copy.data(), array, copy.size() * sizeof($real), cudaMemcpyDeviceToHost), "a kernel");
  for (int i = 0; i < samples; ++i)
    for (int k = 0; k < size; ++k)
      found[(size_t)i * size + k] = copy[is_joint_major ? (size_t)k * samples + i : (size_t)i * size + k];
  return found;
}
#endif

int main()
{
  int failed = 0;
$host#if defined(__CUDACC__)
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: the kernels were compiled and not run\\n");
    return failed;
  }
$device  failed += failures;
#else
  std::printf("compiled without CUDA: the functions ran on the host\\n");
#endif
  return failed;
}
""")

Case = tuple[Program, Arrays, Arrays, bool]


def render_selftest(style: CStyle, cases: Sequence[Case]) -> str:
    """selftest.cu: every function on the host, every kernel on the device."""
    return SELFTEST.substitute(
        name=style.prefix,
        real=style.precision,
        compared=COMPARED,
        tables="\n".join(
            selftest.tables(style, program.name, inputs, outputs) for program, inputs, outputs, _ in cases
        ),
        host="".join(_host_call(style, *case) for case in cases),
        device="".join(_device_calls(style, *case) for case in cases),
    )


def _tolerance(style: CStyle) -> str:
    return "1e-11" if style.precision == "double" else "1e-4"


def _prepared(style: CStyle, program: Program) -> list[str]:
    function = f"{style.prefix}_{program.name}"
    given = ", ".join([*(f"{program.name}_in_{name}" for name in program.parameters), "&prepared"])
    return [f"    {function}_prepared prepared;", f"    {function}_prepare({given});"]


def _host_call(style: CStyle, program: Program, inputs: Arrays, outputs: Arrays, has_prepare: bool) -> str:
    function, sizes = f"{style.prefix}_{program.name}", {port.name: port.size for port in program.inputs}
    samples = len(next(iter(outputs.values())))
    lines = ["  {", *(_prepared(style, program) if has_prepare else [])]
    arguments = [f"{program.name}_in_{n} + k * {sizes[n]}" for n in inputs if n not in program.parameters]
    arguments += ["&prepared"] * has_prepare
    for port in program.ports:
        lines.append(f"    static {style.precision} {port.name}[{samples * port.size}];")
        arguments.append(f"{port.name} + k * {port.size}")
    lines += [f"    for (int k = 0; k < {samples}; ++k)", f"      {function}({', '.join(arguments)});"]
    for port in program.ports:
        wanted, size = f"{program.name}_out_{port.name}", samples * port.size
        lines.append(
            f'    failed += check("{program.name} {port.name}", "host", {port.name}, {wanted}, {size}, '
            f"{_tolerance(style)});"
        )
    return "\n".join([*lines, "  }"]) + "\n"


def _device_calls(style: CStyle, program: Program, inputs: Arrays, outputs: Arrays, has_prepare: bool) -> str:
    function = f"{style.prefix}_{program.name}"
    given = [port for port in program.inputs if port.name not in program.parameters]
    samples = len(next(iter(outputs.values())))
    lines = ["  for (int layout = 0; layout < 2; ++layout) {", "    const bool joints = layout == 0;"]
    if has_prepare:
        lines += [*_prepared(style, program), f"    {function}_prepared *kept = nullptr;"]
        lines.append('    must(cudaMalloc(&kept, sizeof(prepared)), "cudaMalloc");')
        lines.append('    must(cudaMemcpy(kept, &prepared, sizeof(prepared), cudaMemcpyHostToDevice), "cudaMemcpy");')
    for port in given:
        table = f"{program.name}_in_{port.name}"
        lines.append(f"    {style.precision} *{port.name} = on_device({table}, {samples}, {port.size}, joints);")
    for port in program.ports:
        lines.append(f"    {style.precision} *{port.name} = on_device(nullptr, {samples}, {port.size}, joints);")
    middle = ["kept"] * has_prepare
    dense = ", ".join([str(samples), *(p.name for p in given), *middle, *(p.name for p in program.ports)])
    strided = [f"{p.name}, {samples}" for p in given] + middle + [f"{p.name}, {samples}" for p in program.ports]
    lines.append(f"    if (joints) {function}_joint_major<<<1, {THREADS}>>>({', '.join([str(samples), *strided])});")
    lines.append(f"    else {function}_sample_major<<<1, {STAGED}>>>({dense});")
    lines.append(f'    must(cudaGetLastError(), "{function}");')
    for port in program.ports:
        wanted, size = f"{program.name}_out_{port.name}", samples * port.size
        lines.append(
            f'    failed += check("{program.name} {port.name}", joints ? "joint-major" : "sample-major", '
            f"from_device({port.name}, {samples}, {port.size}, joints).data(), {wanted}, {size}, {_tolerance(style)});"
        )
    lines += [f"    cudaFree({p.name});" for p in (*given, *program.ports)]
    lines += ["    cudaFree(kept);"] * has_prepare
    return "\n".join([*lines, "  }"]) + "\n"
