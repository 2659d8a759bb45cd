"""Datasets of LeRobot: Parquet files whose lists are named in `meta/info.json` beside them, episode by episode.

`observation.state` are the measured positions and `action` what the joints were told (or, while a leader arm is
followed, where that was).  Both are degrees, or parts of a range (-100 to 100), unless the robot's software was told
otherwise: the file does not say, so whoever reads it must.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minertia.io.documents import DocumentError, json_document
from minertia.io.files import is_file, reading

STATE, ACTION, EPISODE = "observation.state", "action", "episode_index"
WORDS = {STATE: "position", ACTION: "action"}  # as columns are called, with the joint's name behind
INFO = Path("meta") / "info.json"
HIGHER = 4  # folders above a file in which its dataset is looked for
LARGEST = 10_000_000  # bytes of the description


def dataset_info(path: Path) -> dict[str, Any] | None:
    """The description of the dataset that a file belongs to; None where there is none, or none that can be read."""
    for folder in list(path.resolve().parents)[:HIGHER]:
        file = folder / INFO
        if is_file(file):
            reading(file)
            try:
                with open(file, "rb") as opened:
                    found = json_document(opened.read(LARGEST).decode("utf-8"))
            except (OSError, UnicodeDecodeError, DocumentError):
                return None
            return found if isinstance(found, dict) and "features" in found else None
    return None


def list_names(info: dict[str, Any] | None, column: str, count: int) -> list[str]:
    """Names of the numbers in the lists of a column: by joint where the dataset names them, else by place."""
    plain = [f"{column}{k + 1}" for k in range(count)]
    if info is None or column not in WORDS:
        return plain
    features = info["features"]
    feature = features.get(column) if isinstance(features, dict) else None
    names = _flat(feature.get("names")) if isinstance(feature, dict) else []
    if len(names) != count or len(set(names)) != count:
        return [f"{WORDS[column]}{k + 1}" for k in range(count)]
    return [f"{WORDS[column]}_{name}" for name in names]


def _flat(names: Any) -> list[str]:
    """Names of a feature, a list or a dictionary of lists; what stands behind the joint's name is left out."""
    if isinstance(names, dict):
        names = [name for part in names.values() if isinstance(part, list) for name in part]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return [name.removesuffix(".pos") for name in names]
