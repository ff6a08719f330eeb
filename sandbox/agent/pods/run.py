"""The life of one Pod: which of its containers runs when, until there is nothing left to run.

Only the agent's thread touches it. News come in as calls; whatever may be started now is started
by `advance`, which is safe to call at any time.
"""

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.documents import Manifest, number, text
from jobledger.core.values.instants import Instant
from jobledger.sandbox.agent.pods.containers import (
    ContainerRun,
    Role,
    Running,
    Terminated,
    Waiting,
    containers_of,
)
from jobledger.sandbox.agent.pods.environment import (
    ConfigMissing,
    PodSandbox,
    argv_of,
    environment_of,
)
from jobledger.sandbox.agent.pods.images import PULL_RETRY_SECONDS, pull_trouble
from jobledger.sandbox.agent.pods.probes import Probe, probe_of
from jobledger.sandbox.agent.pods.volumes import VolumeNotReady, make_volumes, remove_volumes
from jobledger.sandbox.agent.processes import Command, Processes

CONFIG_RETRY_SECONDS = 1.0
"""Until a missing ConfigMap or Secret is looked for again."""

EAGER_PROBE_SECONDS = 0.1
"""Between probes of a container that has not been ready yet, whatever its period."""

DEFAULT_GRACE_SECONDS = 30
"""Source: core/v1 PodSpec.terminationGracePeriodSeconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a Pod needs of its node."""

    cluster: Cluster
    processes: Processes
    clock: SystemClock
    probe: Callable[["PodRun", ContainerRun, Probe], None]
    """Has the container probed; the answer comes back as `PodRun.probed`."""


class PodRun:
    """A Pod that this agent runs."""

    def __init__(self, pod: Manifest, host: Host, around: PodSandbox) -> None:
        self.pod, self.around = pod, around
        self.uid = text(pod, "metadata", "uid")
        self.containers = containers_of(pod)
        self.started_at: Instant = host.clock.now()
        self.failure: tuple[str, str] | None = None
        """Reason and message of a Pod that failed as a whole."""
        self.is_stopping = False
        self.is_gone = False
        """Whether the Pod's object is no longer there."""
        self._host = host
        self._has_volumes = False
        self._volumes_due = 0.0
        self._kill_due: float | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no process is left."""
        return all(one.process is None for one in self.containers)

    @property
    def mains(self) -> list[ContainerRun]:
        """The Pod's ordinary containers."""
        return [one for one in self.containers if one.role is Role.MAIN]

    @property
    def is_initialized(self) -> bool:
        """Whether all init containers have done their part."""
        for one in self.containers:
            if one.role is Role.INIT and not _succeeded(one):
                return False
            if one.role is Role.SIDECAR and one.starts == 0:
                return False
        return True

    @property
    def phase(self) -> str:
        """The Pod's phase. Source: Kubernetes, Pod lifecycle.

        One that is ended for good has succeeded or failed, whatever it waited for; the Job
        controller waits for that.
        """
        if self.failure is not None:
            return "Failed"
        if self.is_stopping and self.is_idle:
            return "Succeeded" if all(_succeeded(one) for one in self.mains) else "Failed"
        if any(_failed_for_good(one) for one in self.containers if one.role is Role.INIT):
            return "Failed"
        if self.mains and all(
            isinstance(one.state, Terminated) and not one.comes_back() for one in self.mains
        ):
            return "Succeeded" if all(_succeeded(one) for one in self.mains) else "Failed"
        started = [one for one in self.mains if one.starts > 0]
        return "Running" if started and len(started) == len(self.mains) else "Pending"

    def advance(self) -> None:
        """Start what may be started, restart what is due, probe what is due, end what must end."""
        now = self._host.clock.monotonic()
        if self.is_stopping:
            if self._kill_due is not None and now >= self._kill_due:
                self._signal_all(signal.SIGKILL)
                self._kill_due = now + 1.0
            return
        self._check_deadline()
        if self.phase in ("Succeeded", "Failed"):
            self.stop(0 if self.failure else DEFAULT_GRACE_SECONDS)
            return
        if not self._make_volumes(now):
            return
        for one in self.containers:
            if one.comes_back():
                one.wait_for_restart(now)
            self._start_if_due(one, now)
            if one.role is Role.INIT and not _succeeded(one):
                return
        for one in self.containers:
            self._probe_if_due(one, now)

    def due(self) -> float | None:
        """Return when `advance` has something to do next, on the monotonic clock."""
        if self.is_stopping:
            return self._kill_due if not self.is_idle else None
        found = [] if self._has_volumes else [self._volumes_due]
        for one in self.containers if self._has_volumes else ():
            if isinstance(one.state, Waiting) and one.process is None:
                found.append(one.due)
            if isinstance(one.state, Running) and probe_of(one.spec) and not one.is_probed:
                found.append(one.probe_due)
            if one.role is Role.INIT and not _succeeded(one):
                break  # the others wait for it, not for time
        limit = number(self.pod, "spec", "activeDeadlineSeconds")
        if limit is not None:
            passed = (self._host.clock.now() - self.started_at).total_seconds()
            found.append(self._host.clock.monotonic() + max(0.05, limit - passed))
        return min(found, default=None)

    def process_started(self, process: int) -> None:
        """Take note that a process runs."""
        one = self._of(process)
        if one is not None:
            one.started(self._host.clock.now())
            one.probe_due = self._host.clock.monotonic() + self._initial_delay(one)

    def process_failed(self, process: int, reason: str) -> None:
        """Take note that a process could not be started."""
        one = self._of(process)
        if one is not None:
            one.refused(reason, self._host.clock.now())

    def process_ended(self, process: int, exit_code: int) -> None:
        """Take note that a process has ended."""
        one = self._of(process)
        if one is not None:
            one.ended(exit_code, self._host.clock.now())

    def probed(self, one: ContainerRun, process: int | None, *, is_ready: bool) -> None:
        """Take the answer of a readiness probe that was asked of `process`."""
        probe = probe_of(one.spec)
        if probe is None or one.process != process or not isinstance(one.state, Running):
            return
        one.is_probed = False
        if is_ready:
            one.is_ready, one.probe_failures = True, 0
        else:
            one.probe_failures += 1
            if one.probe_failures >= probe.failure_threshold:
                one.is_ready = False
        pause = probe.period_seconds if one.is_ready else EAGER_PROBE_SECONDS
        one.probe_due = self._host.clock.monotonic() + pause

    def stop(self, grace_seconds: float | None = None) -> None:
        """End every process: SIGTERM, and SIGKILL after the Pod's grace period."""
        if self.is_stopping:
            return
        self.is_stopping = True
        given = number(self.pod, "spec", "terminationGracePeriodSeconds")
        grace = DEFAULT_GRACE_SECONDS if given is None else given
        if grace_seconds is not None:
            grace = min(grace, int(grace_seconds))
        self._signal_all(signal.SIGTERM if grace > 0 else signal.SIGKILL)
        self._kill_due = self._host.clock.monotonic() + grace

    def kill(self, reason: str) -> None:
        """Send SIGKILL to every process; containers end for the reason, if one is given."""
        for one in self.containers:
            one.killed_for = reason if one.process is not None else ""
        self._signal_all(signal.SIGKILL)

    def fail(self, reason: str, message: str) -> None:
        """End the Pod as failed."""
        self.failure = (reason, message)

    def remove_files(self) -> None:
        """Remove everything the Pod had on disk."""
        remove_volumes(self.around.root)

    def log_path(self, name: str, starts: int) -> Path:
        """Return the log of a container's nth start (from 1)."""
        return self.around.root / "containers" / name / f"{starts}.log"

    def container(self, name: str) -> ContainerRun | None:
        """Return a container by name; without a name, the first ordinary one."""
        for one in self.containers:
            if one.name == name or (not name and one.role is Role.MAIN):
                return one
        return None

    def command_of(self, one: ContainerRun) -> Command:
        """Return what to start for a container; may raise `ConfigMissing` or `ClusterError`."""
        directory = self.around.root / "containers" / one.name
        work = directory / "work"
        work.mkdir(parents=True, exist_ok=True)
        environment = environment_of(self._host.cluster, self.pod, one.spec, self.around)
        return Command(
            argv=argv_of(self.pod, one.spec, environment, self.around),
            environment=environment,
            directory=work,
            log=self.log_path(one.name, one.starts + 1),
            mark=f"{self.uid}/{one.name}",
        )

    def _make_volumes(self, now: float) -> bool:
        if self._has_volumes or now < self._volumes_due:
            return self._has_volumes
        try:
            make_volumes(self._host.cluster, self.pod, self.around.root)
        except VolumeNotReady as missing:
            self._volumes_due = now + CONFIG_RETRY_SECONDS
            for one in self.containers:
                one.state = Waiting("ContainerCreating", f"MountVolume.SetUp failed: {missing}")
            return False
        self._has_volumes = True
        return True

    def _start_if_due(self, one: ContainerRun, now: float) -> None:
        if not isinstance(one.state, Waiting) or one.process is not None or now < one.due:
            return
        if trouble := pull_trouble(one.spec, one.state.reason):
            one.state = Waiting(*trouble)
            one.due = now + PULL_RETRY_SECONDS
            return
        try:
            command = self.command_of(one)
        except ConfigMissing as missing:
            one.state = Waiting("CreateContainerConfigError", str(missing))
            one.due = now + CONFIG_RETRY_SECONDS
            return
        if not command.argv:
            one.state = Waiting("CreateContainerError", "no command specified")
            one.due = now + CONFIG_RETRY_SECONDS * 10
            return
        one.starts += 1
        one.restarts += one.last is not None
        one.process = self._host.processes.run(command)

    def _probe_if_due(self, one: ContainerRun, now: float) -> None:
        probe = probe_of(one.spec)
        if probe is None or not isinstance(one.state, Running) or one.is_probed:
            return
        if now >= one.probe_due:
            one.is_probed = True
            self._host.probe(self, one, probe)

    def _initial_delay(self, one: ContainerRun) -> float:
        probe = probe_of(one.spec)
        return 0.0 if probe is None else probe.initial_delay_seconds

    def _check_deadline(self) -> None:
        limit = number(self.pod, "spec", "activeDeadlineSeconds")
        passed = (self._host.clock.now() - self.started_at).total_seconds()
        if limit is not None and passed >= limit and self.phase in ("Pending", "Running"):
            said = "Pod was active on the node longer than the specified deadline"
            self.fail("DeadlineExceeded", said)

    def _signal_all(self, sent: signal.Signals) -> None:
        for one in self.containers:
            if one.process is not None:
                self._host.processes.signal(one.process, sent)

    def _of(self, process: int) -> ContainerRun | None:
        return next((one for one in self.containers if one.process == process), None)


def _succeeded(one: ContainerRun) -> bool:
    return isinstance(one.state, Terminated) and one.state.exit_code == 0


def _failed_for_good(one: ContainerRun) -> bool:
    return isinstance(one.state, Terminated) and one.state.exit_code != 0 and not one.comes_back()
