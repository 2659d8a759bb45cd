"""Where the real robot files and logs are, when they are there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared test material is not here")
