from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def kernel_cache(request, monkeypatch):
    """Kernels that tests compile are kept with pytest's own cache, not in the user's."""
    kept = getattr(request.config, "cache", None)  # None: pytest -p no:cacheprovider
    folder = kept.mkdir("minertia-kernels") if kept else request.getfixturevalue("tmp_path_factory").getbasetemp()
    monkeypatch.setenv("MINERTIA_CACHE", str(folder))
