"""Builds upstream's operators from the Go modules beside this file; run by `make operators`.

One module each, as they ask for different releases of the same libraries. The programs are kept
like those of the API server: in the user's cache, by the hash of the module's `go.sum`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.build import CannotBuild, build_module, cache_of

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Operator:
    """One program of upstream, unchanged."""

    name: str
    package: str
    source: str
    """The Go module that has it, its definitions and its webhooks."""

    @property
    def module(self) -> Path:
        """The folder of our module that names the release."""
        return HERE / self.name

    @property
    def release(self) -> str:
        """The release that `go.mod` names."""
        text = (self.module / "go.mod").read_text(encoding="utf-8")
        found = re.search(rf"{re.escape(self.source)} (v\S+)", text)
        assert found, f"{self.name}/go.mod names no release of {self.source}"
        return found.group(1)

    def program(self, environment: Mapping[str, str]) -> Path:
        """Return where the program is kept, whether it is there or not."""
        return cache_of(self.module, f"operators/{self.name}", environment) / self.name

    def built(self, environment: Mapping[str, str]) -> Path:
        """Return the program.

        Raises:
            CannotBuild: it is still to be built.
        """
        program = self.program(environment)
        if not program.is_file():
            raise CannotBuild(f"{self.source} {self.release} is not built: run `make operators`")
        return program

    def files(self) -> Path:
        """Return the folder with upstream's source, definitions and webhooks.

        Raises:
            CannotBuild: there is no Go, or the module cannot be had.
        """
        try:
            said = subprocess.run(
                ["go", "mod", "download", "-json", f"{self.source}@{self.release}"],
                cwd=self.module,
                capture_output=True,
                text=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as problem:
            raise CannotBuild(f"{self.source} {self.release} cannot be had: {problem}") from problem
        found = re.search(r'"Dir": "(.*)"', said.stdout)
        assert found, said.stdout
        return Path(found.group(1))


_KUBERAY = "github.com/ray-project/kuberay/ray-operator"
_TRAINER = "github.com/kubeflow/trainer/v2"
_KUEUE = "sigs.k8s.io/kueue"

KUBERAY = Operator("kuberay", _KUBERAY, _KUBERAY)
TRAINER = Operator("trainer", f"{_TRAINER}/cmd/trainer-controller-manager", _TRAINER)
KUEUE = Operator("kueue", f"{_KUEUE}/cmd/kueue", _KUEUE)
OPERATORS = (KUBERAY, TRAINER, KUEUE)


def build(environment: Mapping[str, str]) -> None:
    """Build what is not there yet.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    for operator in OPERATORS:
        folder = operator.program(environment).parent
        build_module(operator.module, {operator.name: operator.package}, folder, environment)


def main() -> int:
    """Build the operators, and say where they are."""
    try:
        build(os.environ)
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    for operator in OPERATORS:
        place = operator.program(os.environ)
        sys.stdout.write(f"{operator.source} {operator.release} is {place}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
