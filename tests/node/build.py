"""Builds what a node runs, and upstream's end-to-end suite, from the Go modules beside this file.

kubelet, scheduler and kube-proxy are older than the API server of `tests/apiserver`: theirs is the
last release whose kubelet takes the containerd of Debian 12 and cgroup v1. All programs are kept
in the user's cache by the hash of their module's `go.sum` and sources.
"""

import hashlib
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.build import CannotBuild, assets, build_module, cache_of
from tests.apiserver.build import build as build_apiserver

HERE = Path(__file__).resolve().parent
SOURCE = "github.com/ray-project/kuberay/ray-operator"
"""The Go module of upstream's RayCluster controller and of its end-to-end suites."""

SUITE = "e2erayjob"
SUITE_PACKAGE = f"{SOURCE}/test/{SUITE}"


@dataclass(frozen=True, slots=True)
class Module:
    """One folder with a `go.mod`, and the programs that are built from it."""

    name: str
    programs: Mapping[str, str]
    """Name -> package."""
    command: tuple[str, ...] = ("build",)

    @property
    def path(self) -> Path:
        """Return the folder of the `go.mod`."""
        return HERE / self.name

    def folder(self, environment: Mapping[str, str]) -> Path:
        """Return where the programs are kept: by what `go.sum` and our own sources say."""
        sources = [file.read_bytes() for file in sorted(self.path.rglob("*.go"))]
        ours = hashlib.sha256(b"".join(sources)).hexdigest()[:8] if sources else "tools"
        return cache_of(self.path, f"node/{self.name}", environment) / ours


NODE_PROGRAMS = ("kubelet", "kube-scheduler", "kube-proxy")
KUBERNETES = Module(
    "kubernetes",
    {
        "pause": "./pause",
        **{name: f"k8s.io/kubernetes/cmd/{name}" for name in NODE_PROGRAMS},
    },
)
COREDNS = Module("coredns", {"coredns": "."})
KUBERAY = Module("kuberay", {"raycluster-controller": "."})
TESTS = Module("kuberay", {SUITE: SUITE_PACKAGE}, ("test", "-c", "-vet=off"))


@dataclass(frozen=True, slots=True)
class Programs:
    """Where each program is."""

    control_plane: Path
    """The folder of etcd, kube-apiserver and kube-controller-manager."""
    kubernetes: Path
    """The folder of kubelet, kube-scheduler, kube-proxy and the sandboxes' pause."""
    coredns: Path


def node_programs(environment: Mapping[str, str]) -> Programs:
    """Return the programs of a node, building first what is missing.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    control_plane = assets(environment) or build_apiserver(environment)
    for module in (KUBERNETES, COREDNS):
        _build(module, environment)
    coredns = COREDNS.folder(environment) / "coredns"
    return Programs(control_plane, KUBERNETES.folder(environment), coredns)


def raycluster_controller(environment: Mapping[str, str]) -> Path:
    """Return upstream's RayCluster controller without any other.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    _build(KUBERAY, environment)
    return KUBERAY.folder(environment) / "raycluster-controller"


def suite(environment: Mapping[str, str]) -> Path:
    """Return upstream's end-to-end suite of RayJobs as a program.

    Raises:
        CannotBuild: there is no Go, or it refused.
    """
    _build(TESTS, environment)
    return TESTS.folder(environment) / SUITE


def suite_sources(environment: Mapping[str, str]) -> list[Path]:
    """Return the files of the suite, which say what cases it has.

    Raises:
        CannotBuild: there is no Go, or the module cannot be had.
    """
    said = _go(environment, "list", "-m", "-f", "{{.Dir}}", SOURCE)
    return sorted((Path(said) / "test" / SUITE).glob("*_test.go"))


def release() -> str:
    """Return the release of KubeRay that `go.mod` names."""
    text = (KUBERAY.path / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"{re.escape(SOURCE)} (v\S+)", text)
    assert found, f"kuberay/go.mod names no release of {SOURCE}"
    return found.group(1)


def _go(environment: Mapping[str, str], *words: str) -> str:
    try:
        done = subprocess.run(
            ["go", *words],
            cwd=KUBERAY.path,
            env=dict(environment),
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as problem:
        raise CannotBuild(f"{SOURCE} {release()} cannot be had: {problem}") from problem
    return done.stdout.strip()


def _build(module: Module, environment: Mapping[str, str]) -> None:
    folder = module.folder(environment)
    build_module(module.path, module.programs, folder, environment, module.command)
