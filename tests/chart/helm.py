"""Helm, built from its Go module by `make helm`, and the chart as it renders it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.build import CannotBuild, build_module, cache_of

MODULE = Path(__file__).with_name("module")
DEFINITIONS = Path(__file__).with_name("definitions")
PROGRAMS = {"helm": "helm.sh/helm/v4/cmd/helm"}
CHART = Path(__file__).resolve().parents[2] / "ops" / "chart"


class Refused(RuntimeError):
    """Helm takes chart or values for wrong; the message is what it said."""


def program(environment: Mapping[str, str]) -> Path:
    """Return Helm.

    Raises:
        CannotBuild: it is still to be built.
    """
    found = cache_of(MODULE, "helm", environment) / "helm"
    if not found.is_file():
        raise CannotBuild("Helm is not built: run `make helm` (once, some minutes)")
    return found


def helm(environment: Mapping[str, str], *words: str) -> str:
    """Run Helm and return its output.

    Raises:
        Refused: it ended with another code than 0.
    """
    done = subprocess.run(
        [str(program(environment)), *words],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Refused(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def template(environment: Mapping[str, str], *words: str, release: str = "jobledger") -> str:
    """Return the chart's objects as YAML, for a release in the namespace of its name.

    Raises:
        Refused: Helm takes the values for wrong.
    """
    named = (release, str(CHART), "--namespace", release)
    return helm(environment, "template", *named, *words)


def rendered(
    values: Mapping[str, Any], folder: Path, release: str = "jobledger"
) -> list[dict[str, Any]]:
    """Return the chart's objects with these values, written into a file of this folder.

    Raises:
        Refused: Helm takes the values for wrong.
    """
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
    text = template(os.environ, "--values", str(file), release=release)
    return [document for document in yaml.safe_load_all(text) if document]


def definition(module: str, file: str) -> dict[str, Any]:
    """Return a definition that another project's Go module has.

    Raises:
        CannotBuild: there is no Go, or the module cannot be had.
    """
    command = ["go", "mod", "download", "-json", module]
    try:
        said = subprocess.run(
            command, cwd=DEFINITIONS, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as problem:
        raise CannotBuild(f"{module} cannot be had: {problem}") from problem
    text = (Path(json.loads(said)["Dir"]) / file).read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def main() -> int:
    """Build Helm if it is not there yet, and say where it is."""
    folder = cache_of(MODULE, "helm", os.environ)
    try:
        build_module(MODULE, PROGRAMS, folder, os.environ)
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    sys.stdout.write(f"Helm is {folder / 'helm'}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
