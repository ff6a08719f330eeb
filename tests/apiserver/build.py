"""Builds what a real Kubernetes API server consists of; run by `make apiserver`.

etcd, kube-apiserver, kube-controller-manager and kubectl are tools of the Go module beside this
file. They are kept in the user's cache, in a folder named after the hash of `go.sum`, so that each
release is built once for all clones. `KUBEBUILDER_ASSETS` comes first: if it names a folder with
them, nothing is built. Needs only the standard library.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

MODULE = Path(__file__).resolve().parent
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}
"""Name of each program and its package, cheapest first."""

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager")
"""Without these there is no API server; kubectl may come from elsewhere."""


class CannotBuild(RuntimeError):
    """Something is missing, or the compiler refused; the message says what to do."""


def cached(environment: Mapping[str, str]) -> Path:
    """Return the folder of this release in the user's cache, whether it exists or not."""
    home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    digest = hashlib.sha256((MODULE / "go.sum").read_bytes()).hexdigest()
    return Path(home) / "jobledger" / "apiserver" / digest[:16]


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


def version() -> str:
    """Return the release of Kubernetes that `go.mod` names."""
    found = re.search(r"k8s\.io/kubernetes (v\d+\.\d+\.\d+)", (MODULE / "go.mod").read_text())
    assert found, "go.mod names no release of k8s.io/kubernetes"
    return found.group(1)


def build(environment: Mapping[str, str]) -> Path:
    """Build what is not there yet and return the folder.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    go = shutil.which("go", path=environment.get("PATH"))
    if go is None:
        wanted = re.search(r"^go (\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
        raise CannotBuild(
            f"There is no go on the path. Install Go {wanted.group(1) if wanted else ''} or newer, "
            "or set KUBEBUILDER_ASSETS to a folder that has etcd, kube-apiserver and "
            "kube-controller-manager."
        )
    folder = cached(environment)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another clone may be at it
        for number, name in enumerate(PROGRAMS, start=1):
            if not (folder / name).is_file():
                _say(f"building {name}, {number} of {len(PROGRAMS)}")
                _build_one(go, name, folder, environment)
    return folder


def _build_one(go: str, name: str, folder: Path, environment: Mapping[str, str]) -> None:
    began = time.monotonic()
    partial = folder / f".{name}.partial"
    command = [go, "build", "-C", str(MODULE), "-trimpath", "-ldflags", _linker_flags()]
    built = subprocess.run(
        [*command, "-o", str(partial), PROGRAMS[name]],
        env={**environment, "CGO_ENABLED": "0"},
        check=False,
    )
    if built.returncode:
        raise CannotBuild(f"go build of {PROGRAMS[name]} failed; what it said stands above.")
    partial.rename(folder / name)
    _say(f"  took {time.monotonic() - began:.0f} s")


def _linker_flags() -> str:
    """Return the flags without which the programs call themselves v0.0.0."""
    release = version()
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
    except CannotBuild as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    _say(f"etcd, kube-apiserver, kube-controller-manager and kubectl are in {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
