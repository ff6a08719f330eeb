"""The environment of its own that the Kubeflow SDK has (`make sdk`), with its older client."""

import os
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[2] / ".venv" / "sdk" / "bin" / "python"


def sdk_python() -> Path:
    """Return its Python; skip the test where there is none, or fail it in CI."""
    if not PYTHON.is_file():
        if os.environ.get("CI"):
            pytest.fail("no Kubeflow SDK: run `make sdk`")
        pytest.skip("no Kubeflow SDK: run `make sdk`")
    return PYTHON
