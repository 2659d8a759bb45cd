"""Optional packages."""

import json

import pytest

from minertia.io.errors import MissingExtra
from minertia.io.extras import load


def test_present_package_is_loaded():
    assert load("json", "sim") is json


def test_missing_package_names_the_extra():
    with pytest.raises(MissingExtra, match=r"pip install 'minertia\[sim\]'"):
        load("no_such_package_here", "sim")


def test_the_package_is_named_not_its_module():
    with pytest.raises(MissingExtra, match="the optional package 'no_such_package_here' is required"):
        load("no_such_package_here.inside", "logs")


def test_fault_inside_a_package_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "faulty_package_here.py").write_text("import no_such_package_here")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_package_here"):
        load("faulty_package_here", "sim")
