"""The kubectl that tests use: the one that `make apiserver` builds, else the one on the path."""

import os
import shutil

import pytest

from tests.apiserver.build import assets


def _find() -> str | None:
    folder = assets(os.environ)
    built = folder / "kubectl" if folder is not None else None
    return str(built) if built is not None and built.is_file() else shutil.which("kubectl")


KUBECTL = _find()
"""Path of the program, or None."""

needs_kubectl = pytest.mark.skipif(
    KUBECTL is None, reason="no kubectl: run `make apiserver` (once, some ten minutes)"
)
