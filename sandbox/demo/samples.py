"""The manifests that the demonstration applies: those under `ops/samples`, as they are."""

from pathlib import Path
from typing import Any

import yaml

NAMES = ("retry", "exhausted", "deadline", "suspend", "invalid")


def sample_directory() -> Path:
    """Return where the samples are: beside the command in a wheel, under `ops` in a checkout."""
    installed = Path(__file__).resolve().parents[1] / "samples"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[2] / "ops/samples"


def samples() -> list[dict[str, Any]]:
    """Return the manifests in the order in which they are applied."""
    return [yaml.safe_load((sample_directory() / f"{name}.yaml").read_text()) for name in NAMES]
