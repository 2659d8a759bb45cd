"""Stores of fleets that the studio offers: folders, and URLs of fleet files."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.simulated_fleet import SimulatedFleet
from benchmarks.simulated_store import simulated_store

from minertia.fleet.fleet import Fleet
from minertia.fleet.options import DriftOptions
from minertia.studio.fleet_work import fleet_view
from minertia.studio.project import Project

FLEET = 'format = 1\nstore = "{store}"\n[types.arm]\nrobot = "arm.urdf"\nfilter = {{ cutoff_hz = 5.0 }}\n'


def test_a_fleet_file_names_a_store_at_a_url(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(FLEET.format(store="s3://plant/fleet"), "utf-8")
    (tmp_path / "other.toml").write_text(FLEET.format(store="folder"), "utf-8")
    (tmp_path / "broken.toml").write_text("store = ", "utf-8")
    (found,) = Project(tmp_path).stores()
    assert (found.url, found.title, found.kind) == ("s3://plant/fleet", "s3://plant/fleet", "store")
    assert Project(tmp_path).store(found.key) == found


@pytest.mark.slow
def test_a_store_on_s3_is_assessed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moto, s3fs = pytest.importorskip("moto.server"), pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in (
            ("ENDPOINT_URL", f"http://{host}:{port}"),
            ("ACCESS_KEY_ID", "a"),
            ("SECRET_ACCESS_KEY", "b"),
        ):
            monkeypatch.setenv(f"AWS_{name}", value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("plant")
        (tmp_path / "fleet.toml").write_text(FLEET.format(store="s3://plant/fleet"), "utf-8")
        simulated_store("s3://plant/fleet", SimulatedFleet(5, 13, 4, programs=3))
        (found,) = Project(tmp_path).stores()
        views = [fleet_view(Fleet.open(found.url).drift(options=DriftOptions(learning=10))) for _ in range(2)]
        assert views[0] == views[1] and len(views[0]["robots"]) == 5 and views[0]["streams"]["r000"]
    finally:
        server.stop()
        s3fs.S3FileSystem.clear_instance_cache()
