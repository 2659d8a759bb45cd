from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def kernel_cache(request, monkeypatch):
    """Kernels that tests compile are kept with pytest's own cache, not in the user's."""
    monkeypatch.setenv("MINERTIA_CACHE", str(request.config.cache.mkdir("minertia-kernels")))
