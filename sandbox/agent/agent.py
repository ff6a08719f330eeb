"""The node agent: one thread that takes news (Pods, processes, probes, time) and drives Pods."""

import heapq
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import structlog

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ClusterError
from jobledger.core.ports.cluster import PODS, Cluster
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.sandbox.agent.addresses import address_for
from jobledger.sandbox.agent.logs import LogFile, LogServer
from jobledger.sandbox.agent.node import NodeRegistration
from jobledger.sandbox.agent.pods.containers import ContainerRun, Terminated
from jobledger.sandbox.agent.pods.environment import ConfigMissing, PodSandbox, expanded
from jobledger.sandbox.agent.pods.probes import Exec, Probe, answers
from jobledger.sandbox.agent.pods.run import Host, PodRun
from jobledger.sandbox.agent.pods.status import holds, pod_status
from jobledger.sandbox.agent.processes import (
    Command,
    ProcessEnded,
    Processes,
    ProcessFailed,
    ProcessNews,
    ProcessStarted,
)
from jobledger.sandbox.agent.status_writer import StatusWriter
from jobledger.sandbox.agent.toolbox import make_toolbox
from jobledger.sandbox.controllers.loop import ControllerLoop
from jobledger.sandbox.controllers.store import Store, is_being_deleted, key_of, uid_of

NODE_NAME = "sandbox-node"
PROBE_THREADS = 4
"""So many readiness probes are under way at once."""

SHORTEST_PAUSE_SECONDS = 0.01
"""A Pod is not looked at again sooner, unless there is news of it."""

RETRY_SECONDS = 1.0
"""Until a Pod is looked at again after the API server refused something it needs."""

News: TypeAlias = Callable[[], None]

_log = structlog.get_logger("sandbox")


class NodeAgent:
    """Runs every Pod that is bound to no node or to this one."""

    def __init__(self, cluster: Cluster, pods: Store, work_dir: Path) -> None:
        self._cluster, self._pods = cluster, pods
        self._work_dir, self._proxy_url = work_dir, ""
        self._names: Path | None = None
        self._clock = SystemClock()
        self._inbox: queue.Queue[News | None] = queue.Queue()
        self._runs: dict[str, PodRun] = {}
        self._exec_probes: dict[int, tuple[PodRun, ContainerRun, int | None]] = {}
        self._timers: list[tuple[float, str]] = []
        self._reminders: dict[str, float] = {}
        self._processes = Processes(lambda news: self._inbox.put(lambda: self._heard(news)))
        self._host = Host(
            cluster=cluster, processes=self._processes, clock=self._clock, probe=self._probe
        )
        self._logs = LogServer(self._find_log)
        self._writer = StatusWriter(cluster, pods)
        self._node = ControllerLoop("sandbox-node")
        self._probers = ThreadPoolExecutor(PROBE_THREADS, thread_name_prefix="sandbox-probe")
        self._thread: threading.Thread | None = None

    def start(self, proxy_url: str = "", names: Path | None = None) -> None:
        """Start everything; Pods that the watch has told before are taken as well.

        Args:
            proxy_url: the service proxy, for the containers' environment; empty for none.
            names: the directory of the names that programs can look up, if there is one.
        """
        self._proxy_url, self._names = proxy_url, names
        self._toolbox = make_toolbox(self._work_dir / "bin")
        self._processes.start()
        self._logs.begin()
        self._writer.start(self._logs.logs_url)
        self._node.start()
        self._node.add((NodeRegistration(self._cluster, self._clock), "", NODE_NAME))
        self._thread = threading.Thread(target=self._work, name="sandbox-agent", daemon=True)
        self._thread.start()
        self._pods.tell(self._told)
        for pod in self._pods.all():
            self._told(pod, False)  # noqa: FBT003  # as the store calls it

    def stop(self) -> None:
        """End every process and every thread. The Pods' objects stay as they are."""
        if self._thread is None:
            return
        self._inbox.put(None)
        self._thread.join()
        self._thread = None
        self._node.stop()
        self._processes.stop()
        self._probers.shutdown(wait=True, cancel_futures=True)
        self._writer.stop()
        self._logs.end()

    def kill_pod(self, namespace: str, name: str, reason: str = "") -> None:
        """Fault: SIGKILL to every process of a Pod, as `OOMKilled` if memory is to have run out."""
        self._inbox.put(lambda: self._kill(namespace, name, reason))

    def lose_node(self) -> None:
        """Fault: every process is gone at once and every Pod has failed with `NodeLost`."""
        self._inbox.put(self._lose_all)

    def _told(self, pod: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        self._inbox.put((lambda: self._gone(pod)) if is_gone else (lambda: self._seen(pod)))

    def _work(self) -> None:
        while True:
            try:
                news = self._inbox.get(timeout=self._pause())
            except queue.Empty:
                news = self._fire
            if news is None:
                return
            try:
                news()
                self._fire()
            except Exception as failed:  # noqa: BLE001  # one malformed Pod must not stop the others
                _log.error("sandbox_pod_failed", error=f"{type(failed).__name__}: {failed}")

    def _pause(self) -> float | None:
        if not self._timers:
            return None
        return max(0.0, self._timers[0][0] - self._clock.monotonic())

    def _fire(self) -> None:
        while self._timers and self._timers[0][0] <= self._clock.monotonic():
            due, uid = heapq.heappop(self._timers)
            if self._reminders.get(uid) == due:
                del self._reminders[uid]
                if uid in self._runs:
                    self._settle(self._runs[uid])

    def _seen(self, pod: Manifest) -> None:
        uid = uid_of(pod)
        run = self._runs.get(uid)
        if run is None:
            self._meet(pod)
            return
        run.pod = pod
        if is_being_deleted(pod):
            run.stop()
        self._settle(run)

    def _meet(self, pod: Manifest) -> None:
        """Take a Pod that this agent does not run, unless a gate keeps it from any node."""
        uid, phase = uid_of(pod), text(pod, "status", "phase")
        bound_to = text(pod, "spec", "nodeName")
        if bound_to not in ("", NODE_NAME) or items(pod, "spec", "schedulingGates"):
            return
        if is_being_deleted(pod):
            self._delete(pod)
            return
        if phase in ("Succeeded", "Failed"):
            return
        run = PodRun(pod, self._host, self._pod_sandbox(pod))
        self._runs[uid] = run
        if text(pod, "status", "startTime"):
            _take_over(run)
        self._settle(run)

    def _gone(self, pod: Manifest) -> None:
        run = self._runs.get(uid_of(pod))
        if run is not None:
            run.is_gone = True
            run.stop()
            self._settle(run)

    def _heard(self, news: ProcessNews) -> None:
        asked = self._exec_probes.get(news.process)
        if asked is not None:
            self._heard_of_probe(news, *asked)
            return
        for run in list(self._runs.values()):
            if any(one.process == news.process for one in run.containers):
                match news:
                    case ProcessStarted():
                        run.process_started(news.process)
                    case ProcessFailed():
                        run.process_failed(news.process, news.reason)
                    case ProcessEnded():
                        run.process_ended(news.process, news.exit_code)
                self._settle(run)
                return

    def _settle(self, run: PodRun) -> None:
        """Do what may be done for a Pod, publish what it is doing, and see when to look again."""
        if run.is_gone and run.is_idle:
            run.remove_files()
            self._runs.pop(run.uid, None)
            return
        try:
            run.advance()
        except ClusterError as refused:
            _log.warning("sandbox_pod_waits", pod=key_of(run.pod), error=str(refused))
            self._remind(self._clock.monotonic() + RETRY_SECONDS, run)
        if not run.is_gone:
            known = self._pods.get(*key_of(run.pod)) or run.pod
            status = pod_status(run, child(known, "status"), self._clock.now())
            if is_being_deleted(run.pod) and run.is_idle and holds(child(known, "status"), status):
                self._delete(run.pod)  # once it is known how its containers have ended
            else:
                self._writer.write(key_of(run.pod), run.uid, status)
        due = run.due()
        if due is not None:
            self._remind(due, run)

    def _remind(self, due: float, run: PodRun) -> None:
        due = max(due, self._clock.monotonic() + SHORTEST_PAUSE_SECONDS)
        known = self._reminders.get(run.uid)
        if known is None or due < known:
            self._reminders[run.uid] = due
            heapq.heappush(self._timers, (due, run.uid))

    def _delete(self, pod: Manifest) -> None:
        """Finish a deletion that waits for the node."""
        try:
            self._cluster.delete(PODS, *key_of(pod), uid=uid_of(pod), grace_seconds=0)
        except ClusterError as refused:
            _log.warning("sandbox_pod_not_deleted", pod=key_of(pod), error=str(refused))

    def _pod_sandbox(self, pod: Manifest) -> PodSandbox:
        taken = {run.around.ip for run in self._runs.values()}
        return PodSandbox(
            root=self._work_dir / "pods" / uid_of(pod),
            ip=text(pod, "status", "podIP") or address_for(uid_of(pod), taken),
            toolbox=self._toolbox,
            proxy_url=self._proxy_url,
            names=self._names,
        )

    def _probe(self, run: PodRun, one: ContainerRun, probe: Probe) -> None:
        process, question = one.process, probe.question
        if isinstance(question, Exec):
            self._probe_by_command(run, one, question)
            return

        def ask() -> None:
            is_ready = answers(question, one.spec, run.around.ip, probe.timeout_seconds)
            self._inbox.put(lambda: self._probed(run, one, process, is_ready=is_ready))

        self._probers.submit(ask)

    def _probe_by_command(self, run: PodRun, one: ContainerRun, question: Exec) -> None:
        try:
            command = run.command_of(one)
        except ConfigMissing:
            self._probed(run, one, one.process, is_ready=False)
            return
        asked = Command(
            argv=[expanded(word, command.environment) for word in question.argv],
            environment=command.environment,
            directory=command.directory,
            log=command.directory.parent / "probe.log",
            mark=f"{command.mark}/probe",
        )
        self._exec_probes[self._processes.run(asked)] = (run, one, one.process)

    def _heard_of_probe(
        self, news: ProcessNews, run: PodRun, one: ContainerRun, process: int | None
    ) -> None:
        if isinstance(news, ProcessStarted):
            return
        del self._exec_probes[news.process]
        is_ready = isinstance(news, ProcessEnded) and news.exit_code == 0
        self._probed(run, one, process, is_ready=is_ready)

    def _probed(
        self, run: PodRun, one: ContainerRun, process: int | None, *, is_ready: bool
    ) -> None:
        was_ready = one.is_ready
        run.probed(one, process, is_ready=is_ready)
        if one.is_ready != was_ready:
            self._settle(run)
        else:
            due = run.due()
            if due is not None:
                self._remind(due, run)

    def _kill(self, namespace: str, name: str, reason: str) -> None:
        for run in self._runs.values():
            if key_of(run.pod) == (namespace, name):
                run.kill(reason)

    def _lose_all(self) -> None:
        for run in list(self._runs.values()):
            if run.phase in ("Pending", "Running"):
                run.fail("NodeLost", f"Node {NODE_NAME} was lost")
                run.stop(0)
                self._settle(run)

    def _find_log(self, uid: str, container: str, previous: bool) -> LogFile | None:  # noqa: FBT001  # as the log server calls it
        run = self._runs.get(uid)
        one = run.container(container) if run is not None else None
        if run is None or one is None:
            return None
        started = one.run_with_log(previous=previous)
        if started < 1:
            return None

        def is_over() -> bool:
            return previous or isinstance(one.state, Terminated) or one.starts != started

        return run.log_path(one.name, started), is_over


def _take_over(run: PodRun) -> None:
    """Judge a Pod whose processes died with an earlier agent: restart it, or call it lost."""
    counts = {
        text(entry, "name"): child(entry).get("restartCount")
        for entry in items(run.pod, "status", "containerStatuses")
    }
    if text(run.pod, "spec", "restartPolicy") == "Never":
        run.fail("NodeLost", f"Node {NODE_NAME} was lost")
        return
    for one in run.containers:
        known = counts.get(one.name)
        one.restarts = (known if isinstance(known, int) else 0) + 1
