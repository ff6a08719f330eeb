"""Runs cases of upstream's suite, each as a process with a limit."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.node.suite.cases import Case
from tests.node.suite.verdicts import Seen, judge

TIMEOUTS = {
    "KUBERAY_TEST_TIMEOUT_SHORT": "4m",
    "KUBERAY_TEST_TIMEOUT_MEDIUM": "20m",
    "KUBERAY_TEST_TIMEOUT_LONG": "30m",
}
"""Upstream's waits, for two busy cores; what the environment says counts more."""

CASE_SECONDS = 2700.0
"""Limit of one case."""
SPARE_SECONDS = 60.0
"""From the suite's own limit, at which it says where it hangs, to SIGKILL."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite's program, and where and how it is run."""

    program: Path
    environment: Mapping[str, str]
    """With KUBECONFIG, and the image of Ray."""
    logs: Path
    """The output of each case, and what upstream's tests keep of Pods."""
    day: str
    running: set[int] = field(default_factory=set)
    """Processes of the cases that run."""
    stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End the cases that run; no other begins."""
        self.stopped.set()
        for pid in tuple(self.running):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def run(self, case: Case) -> Seen:
        """Run one case; return the verdict on it."""
        name = case.reported.replace("/", ".")
        kept = self.logs / name
        kept.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        words = [
            str(self.program),
            *("-test.v", f"-test.run={case.pattern}", f"-test.timeout={CASE_SECONDS:.0f}s"),
        ]
        environment = {**TIMEOUTS, **self.environment, "KUBERAY_TEST_OUTPUT_DIR": str(kept)}
        began = time.monotonic()
        with log.open("wb") as file:
            process = subprocess.Popen(
                words,
                cwd=self.logs,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.running.add(process.pid)
            if self.stopped.is_set():  # between the last look and now
                self.stop()
            try:
                code = process.wait(CASE_SECONDS + SPARE_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
            self.running.discard(process.pid)
        took = time.monotonic() - began
        return judge(case, log.read_text(errors="replace"), code, self.day, took)


def run_all(
    suite: Suite, chosen: Sequence[Case], at_once: int, tell: Callable[[Seen], None]
) -> list[Seen]:
    """Run cases, so many at once; return their verdicts in the order of the cases.

    Args:
        suite: what is run.
        chosen: the cases.
        at_once: each has a RayCluster or two.
        tell: called with each verdict as it comes.
    """

    def one(case: Case) -> Seen | None:
        if suite.stopped.is_set():
            return None
        seen = suite.run(case)
        if suite.stopped.is_set():  # it was killed: that says nothing of the case
            return None
        try:
            tell(seen)
        except BaseException:
            suite.stop()
            raise
        return seen

    with ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(one, case) for case in chosen]
        try:
            found = [task.result() for task in running]
        except BaseException:
            suite.stop()
            raise
    return [seen for seen in found if seen is not None]
