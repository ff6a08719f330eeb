"""One container of a Pod: what it is doing, and what became of it before."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import Instant

FIRST_RESTART_SECONDS = 1.0
LAST_RESTART_SECONDS = 30.0
"""A container is restarted at once.

Then after the first, then twice as long each time up to the last (a real kubelet: 10 and 300).
"""


class Role(StrEnum):
    """When a container runs in the life of its Pod."""

    INIT = "init"
    """Before the others, to its end."""
    SIDECAR = "sidecar"
    """Started among the init containers, runs as long as the Pod."""
    MAIN = "main"


@dataclass(frozen=True, slots=True)
class Waiting:
    """It does not run (yet)."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Its process runs."""

    started_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """Its process has ended."""

    exit_code: int
    """As a shell counts: 128 + n for signal n."""
    signal: int
    """0 for none."""
    reason: str
    message: str = ""
    started_at: Instant | None
    finished_at: Instant


ContainerState: TypeAlias = Waiting | Running | Terminated


@dataclass(slots=True, kw_only=True)
class ContainerRun:
    """A container and its processes so far."""

    name: str
    spec: Json
    role: Role
    restarts_on: str
    """`Always`, `OnFailure` or `Never`: the container's own policy or the Pod's."""
    state: ContainerState = field(default_factory=lambda: Waiting("ContainerCreating"))
    last: Terminated | None = None
    starts: int = 0
    restarts: int = 0
    """How often it was started again; one that waits for that is not counted yet, as a kubelet has
    it."""
    process: int | None = None
    """Number of the running (or starting) process."""
    due: float = 0.0
    """When it may be started, on the monotonic clock."""
    is_ready: bool = False
    probe_due: float = 0.0
    is_probed: bool = False
    """Whether a readiness probe is under way."""
    probe_failures: int = 0
    killed_for: str = ""
    """The reason of its end, where somebody has it killed for one."""

    def started(self, at: Instant) -> None:
        """Take note that the process runs."""
        self.state = Running(at)
        self.is_ready = self.role is not Role.INIT and not child(self.spec, "readinessProbe")

    def ended(self, exit_code: int, at: Instant) -> None:
        """Take note of the end of the process (negative: by a signal)."""
        began = self.state.started_at if isinstance(self.state, Running) else at
        self._end(
            Terminated(
                exit_code=exit_code if exit_code >= 0 else 128 - exit_code,
                signal=max(0, -exit_code),
                reason="Completed" if exit_code == 0 else self.killed_for or "Error",
                started_at=began,
                finished_at=at,
            )
        )

    def refused(self, reason: str, at: Instant) -> None:
        """Take note that the process could not be started.

        Source: containerd's answer to a command that is not there (StartError, 128).
        """
        self._end(
            Terminated(
                exit_code=128,
                signal=0,
                reason="StartError",
                message=f"failed to start container {self.name!r}: {reason}",
                started_at=None,
                finished_at=at,
            )
        )

    def comes_back(self) -> bool:
        """Tell whether a terminated container is to be restarted."""
        if not isinstance(self.state, Terminated):
            return False
        if self.role is Role.INIT and self.state.exit_code == 0:
            return False
        if self.restarts_on == "Always":
            return True
        return self.restarts_on == "OnFailure" and self.state.exit_code != 0

    def run_with_log(self, *, previous: bool) -> int:
        """Return which run's log is served, counted from 1; 0: none.

        Of a container that waits for its next start, or is being started, the last run that has
        ended is both the present and the previous one. Source: kubelet,
        validateContainerLogStatus.
        """
        if not isinstance(self.state, Waiting):
            return self.starts - previous
        ended = self.starts - (self.process is not None)
        return ended if ended or previous else self.starts

    def wait_for_restart(self, now: float) -> None:
        """Turn a terminated container into one that waits for its next start."""
        if isinstance(self.state, Terminated):
            self.last = self.state
        delay = min(LAST_RESTART_SECONDS, FIRST_RESTART_SECONDS * 2 ** min(self.restarts - 1, 16))
        self.due = now + (delay if self.restarts else 0.0)
        self.state = Waiting("CrashLoopBackOff", "back-off restarting failed container")

    def _end(self, state: Terminated) -> None:
        self.state, self.process = state, None
        self.is_ready, self.is_probed, self.probe_failures = False, False, 0
        self.killed_for = ""


def containers_of(pod: Manifest) -> list[ContainerRun]:
    """Return the containers of a Pod, init containers first, none of them started."""
    policy = text(pod, "spec", "restartPolicy") or "Always"
    found = []
    for spec in items(pod, "spec", "initContainers"):
        own = text(spec, "restartPolicy")
        role = Role.SIDECAR if own == "Always" else Role.INIT
        restarts = own or ("Never" if policy == "Never" else "OnFailure")
        found.append(
            ContainerRun(name=text(spec, "name"), spec=spec, role=role, restarts_on=restarts)
        )
    for spec in items(pod, "spec", "containers"):
        restarts = text(spec, "restartPolicy") or policy
        found.append(
            ContainerRun(name=text(spec, "name"), spec=spec, role=Role.MAIN, restarts_on=restarts)
        )
    if any(one.role is not Role.MAIN for one in found):
        for one in found:
            one.state = Waiting("PodInitializing")
    return found
