"""Builds what a real Kubernetes API server consists of; run by `make apiserver`.

etcd, kube-apiserver, kube-controller-manager and kubectl are tools of the Go module beside this
file; the JobSet controller is the tool of a second one in `jobset/`, as it asks for other releases
of the same libraries. Each module's programs are kept in the user's cache, in a folder named after
the hash of its `go.sum`, so that each release is built once for all clones. `KUBEBUILDER_ASSETS`
comes first: if it names a folder with them, nothing is built. Needs only the standard library.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

MODULE = Path(__file__).resolve().parent
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
"""Name of each program and its package, cheapest first."""

JOBSET_MODULE = MODULE / "jobset"
JOBSET_PROGRAMS = {"jobset": "sigs.k8s.io/jobset"}
"""The second module and its one program."""

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager")
"""Without these there is no API server; kubectl may come from elsewhere."""


class CannotBuild(RuntimeError):
    """Something is missing, or the compiler refused; the message says what to do."""


def cached(environment: Mapping[str, str]) -> Path:
    """Return the folder of this release in the user's cache, whether it exists or not."""
    return cache_of(MODULE, "apiserver", environment)


def cache_of(module: Path, folder: str, environment: Mapping[str, str]) -> Path:
    """Return where the programs of a module are kept, whether they are there or not."""
    home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.sha256((module / "go.sum").read_bytes()).hexdigest()
    return Path(home) / "jobledger" / folder / digest[:16]


def assets(environment: Mapping[str, str]) -> Path | None:
    """Return the folder that has the programs, or None if they are still to be built.

    Raises:
        CannotBuild: KUBEBUILDER_ASSETS names a folder that lacks one of them.
    """
    given = environment.get("KUBEBUILDER_ASSETS")
    if given:
        missing = [name for name in NEEDED if not (Path(given) / name).is_file()]
        if missing:
            raise CannotBuild(
                f"KUBEBUILDER_ASSETS is {given}, where {', '.join(missing)} is missing; "
                "unset it to use the programs that make apiserver builds."
            )
        return Path(given)
    folder = cached(environment)
    return folder if all((folder / name).is_file() for name in PROGRAMS) else None


def jobset_controller(environment: Mapping[str, str]) -> Path | None:
    """Return the program of the JobSet controller, or None if it is still to be built."""
    given = environment.get("KUBEBUILDER_ASSETS")
    folders = [Path(given)] if given else []
    folders.append(cache_of(JOBSET_MODULE, "jobset", environment))
    return next((one / "jobset" for one in folders if (one / "jobset").is_file()), None)


def version(module: Path = MODULE) -> str:
    """Return the release of Kubernetes that a module's `go.mod` names."""
    found = re.search(r"k8s\.io/kubernetes (v\d+\.\d+\.\d+)", (module / "go.mod").read_text())
    assert found, f"{module / 'go.mod'} names no release of k8s.io/kubernetes"
    return found.group(1)


def build(environment: Mapping[str, str]) -> Path:
    """Build what of an API server is not there yet and return the folder.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    folder = cached(environment)
    build_module(MODULE, PROGRAMS, folder, environment)
    return folder


def build_jobset(environment: Mapping[str, str]) -> Path:
    """Build the JobSet controller if it is not there yet and return the program.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    folder = cache_of(JOBSET_MODULE, "jobset", environment)
    build_module(JOBSET_MODULE, JOBSET_PROGRAMS, folder, environment)
    return folder / "jobset"


def build_module(
    module: Path,
    programs: Mapping[str, str],
    folder: Path,
    environment: Mapping[str, str],
    command: Sequence[str] = ("build",),
) -> None:
    """Build the programs (name -> package) of a module that are not in a folder yet.

    Args:
        module: the folder of the module.
        programs: name -> package.
        folder: where the programs are put.
        environment: of the compiler.
        command: of `go`; `test -c` makes a program of a package's tests.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    go = shutil.which("go", path=environment.get("PATH"))
    if go is None:
        wanted = re.search(r"^go (\S+)", (module / "go.mod").read_text(), re.MULTILINE)
        raise CannotBuild(
            f"There is no go on the path. Install Go {wanted.group(1) if wanted else ''} or newer, "
            "or set KUBEBUILDER_ASSETS to a folder that has etcd, kube-apiserver and "
            "kube-controller-manager."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another clone may be at it
        for number, (name, package) in enumerate(programs.items(), start=1):
            if (folder / name).is_file():
                continue
            _say(f"building {name}, {number} of {len(programs)}")
            began = time.monotonic()
            partial = folder / f".{name}.partial"
            verb, *options = command
            words = [go, verb, "-C", str(module), *options]
            _build_one([*words, "-ldflags", _linker_flags(module)], package, partial, environment)
            partial.rename(folder / name)
            _say(f"  took {time.monotonic() - began:.0f} s")


def _build_one(
    command: list[str], package: str, place: Path, environment: Mapping[str, str]
) -> None:
    built = subprocess.run(
        [*command, "-trimpath", "-o", str(place), package],
        env={**environment, "CGO_ENABLED": "0"},
        check=False,
    )
    if built.returncode:
        raise CannotBuild(f"go {command[1]} of {package} failed; what it said stands above.")


def _linker_flags(module: Path) -> str:
    """Return the flags without which Kubernetes' programs call themselves v0.0.0."""
    names_one = "k8s.io/kubernetes v" in (module / "go.mod").read_text()
    release = version(module if names_one else MODULE)
    major, minor, _ = release.removeprefix("v").split(".")
    named = {"gitVersion": release, "gitMajor": major, "gitMinor": minor}
    said = " ".join(f"-X k8s.io/component-base/version.{key}={said}" for key, said in named.items())
    return f"-s -w {said}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Say where the programs are, after building them if need be."""
    try:
        folder = assets(os.environ)
        if folder is None:
            _say(f"Kubernetes {version()} is built once, which takes some ten minutes")
            folder = build(os.environ)
        jobset = jobset_controller(os.environ)
        if jobset is None:
            _say("the JobSet controller is built once, which takes some two minutes")
            jobset = build_jobset(os.environ)
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    _say(f"etcd, kube-apiserver, kube-controller-manager and kubectl are in {folder}")
    _say(f"the JobSet controller is {jobset}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
