"""The extension module with the precompiled interpreter and filter; everything else is in pyproject.toml.

It is optional: without a C compiler the package installs all the same and runs its programs on NumPy.
"""

import hashlib
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

try:
    import numpy
except ImportError:  # built without isolation and without NumPy
    numpy = None

NATIVE = "src/minertia/codegen/kernels/native"
INTERPRETERS = ("interpret_base", "interpret_avx2", "interpret_avx512")
is_possible = numpy is not None and not sysconfig.get_config_var("Py_GIL_DISABLED")  # no stable ABI without the lock
# the last four come behind CFLAGS, whose -ffast-math would take the reduction of angles apart (native/vector.h)
plain = ["-fno-fast-math", "-fno-unsafe-math-optimizations", "-fno-associative-math", "-fno-finite-math-only"]
flags = [] if sys.platform == "win32" else ["-O2", "-ffp-contract=fast", "-fno-math-errno", "-Wno-psabi", *plain]
# what the extension was built from, so that one of older sources is not taken (codegen/kernels/build.py)
headers = sorted(Path(NATIVE).glob("*.h"))
sources = b"".join(path.read_bytes() for path in headers)
extensions = [
    Extension(
        "minertia.codegen.kernels._native",
        [f"{NATIVE}/{name}.c" for name in ("module", "cascade", *INTERPRETERS)],
        depends=[path.as_posix() for path in headers],
        include_dirs=[numpy.get_include()],
        extra_compile_args=flags,
        extra_link_args=[] if sys.platform == "win32" else ["-O2", *plain[:2]],
        define_macros=[("SOURCES", f'"{hashlib.sha256(sources).hexdigest()}"')],
        py_limited_api=True,
        optional=True,
    )
    for _ in range(is_possible)
]
setup(ext_modules=extensions, options={"bdist_wheel": {"py_limited_api": "cp311"}} if extensions else {})
