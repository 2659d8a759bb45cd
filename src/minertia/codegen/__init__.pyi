"""Programs of a robot as functions and code, beside `minertia.generate` and `minertia.compile`."""

from minertia.codegen.compiled import program as build_program
from minertia.codegen.compiled import to_jax, to_torch
from minertia.codegen.generate import GenerationResult

__all__ = [
    "GenerationResult",
    "build_program",
    "to_jax",
    "to_torch",
]
