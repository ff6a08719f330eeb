"""A namespace, a ledger and a controller, in which lives are led one after the other.

Whenever the controller is dead another is started, as a kubelet would.
"""

import functools
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.values.documents import text
from jobledger.core.values.ids import StreamId
from tests.acceptance.site import QUICK, Site
from tests.acceptance.witness import (
    BATCH_JOBS,
    KUBERNETES_EVENTS,
    LIMIT_SECONDS,
    RAYCLUSTERS,
    RAYJOBS,
    Witness,
)
from tests.crash_points.forks import TELL_STACKS, Fork, Forks
from tests.crash_points.lives import SHARED, Act, Life, Step, shared_cluster
from tests.crash_points.trap import Order, Passage, give, journal, withdraw
from tests.support.api import PODS
from tests.support.ledgers import Ledger
from tests.support.life_ends import (
    End,
    announced,
    assert_ledger_whole,
    differing,
    end_in,
    folded_status,
)
from tests.support.processes import LOG_SHOWN_CHARACTERS

LOOK_SECONDS = 0.04
"""Pause between two looks at the controller and at what is waited for."""

RUN = ("run", "--replica", "controller", "--port", "0")
FEW = {"JOBLEDGER_WORKERS": "3", "JOBLEDGER_POLLERS": "1"}
"""There is one job at a time."""


@dataclass(frozen=True, kw_only=True)
class Led:
    """A life that has been led to its end, and found whole."""

    end: End
    clusters: int
    submitters: int
    runs: int
    passages: tuple[Passage, ...]
    """The steps of all controllers that there were meanwhile."""

    @property
    def deaths(self) -> list[Passage]:
        """Return where controllers died."""
        return [item for item in self.passages if item.deadly]


@dataclass
class Lane:
    """One of many, each in a thread of its own."""

    site: Site
    forks: Forks
    ledger: Ledger
    """That of the site, read beside the controller."""
    running: Fork | None = None
    deaths: int = 0
    """As many as were found so far."""

    @property
    def log(self) -> Path:
        """Where all controllers of this lane write to."""
        return self.site.directory / "controllers.log"

    def lead(self, life: Life, name: str, orders: Sequence[Order] = (), patience: int = 1) -> Led:
        """Lead a life to its end, dying as ordered; leave nothing of it behind.

        Raises:
            AssertionError: something was doubled, leaked or lost, or does not come to its end.
        """
        own = self.site.directory / name
        own.mkdir()
        before = len(journal(self.site.directory))
        if orders:
            give(self.site.directory, *orders)
        try:
            with Witness(self.site.api) as witness:
                led = _Course(self, life, name, own, witness, patience).run(before)
                withdraw(self.site.directory)
                self._clean_up(name)
        except Exception as error:
            ordered = ", ".join(map(str, orders))
            error.add_note(f"{life.name} {name}, {ordered}; the end of its controllers' log:")
            error.add_note(self.log.read_text(errors="replace")[-LOG_SHOWN_CHARACTERS:])
            raise
        return led

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return once a condition holds; see to it that a controller runs meanwhile."""
        limit = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < limit, f"after {LIMIT_SECONDS:.0f} s still not: {what}"
            self.see_to_controller()
            time.sleep(LOOK_SECONDS)

    def see_to_controller(self) -> None:
        """Start a controller if there is none; one that has died must have been told to."""
        if self.running is not None and not self.running.has_ended():
            return
        if self.running is not None:
            self.running.close()
            self.deaths += 1
            ordered = sum(item.deadly for item in journal(self.site.directory))
            assert self.deaths == ordered, "the controller ended by itself"
        self.running = self._start(*RUN)

    def succeed(self) -> None:
        """Have the controller stop in order, if it is given the time, and start another."""
        self.see_to_controller()
        assert self.running is not None
        self.running.send(signal.SIGTERM)
        if not self.running.has_ended(LIMIT_SECONDS):
            self.running.send(TELL_STACKS)
            self.running.has_ended(1.0)
            raise AssertionError("the controller does not stop")
        self.running.close()
        self.deaths = sum(item.deadly for item in journal(self.site.directory))
        self.running = self._start(*RUN)

    def stop(self) -> None:
        """Kill the controller, if there is one."""
        if self.running is not None:
            self.running.send(signal.SIGKILL)
            assert self.running.has_ended(LIMIT_SECONDS), "SIGKILL ends it"
            self.running.close()
            self.running = None

    def command(self, *words: str) -> bool:
        """Run another command with the trap set; return whether it died of it."""
        before = self._deadly()
        fork = self._start(*words)
        assert fork.has_ended(LIMIT_SECONDS), f"jobledger {words} does not end"
        fork.close()
        self.deaths += self._deadly() - before
        return self._deadly() > before

    def _deadly(self) -> int:
        return sum(item.deadly for item in journal(self.site.directory))

    def _start(self, *words: str) -> Fork:
        mine = {"JOBLEDGER_NAMESPACES": f'["{self.site.api.namespace}"]'}
        environment = {**self.site.terminal.environment, **QUICK, **FEW, **mine}
        return self.forks.start(words, self.site.directory, environment, self.log)

    def _clean_up(self, name: str) -> None:
        """Delete the RayJob; nothing of it may be left then."""
        self.site.api.delete(RAYJOBS, name)
        self.site.api.delete(RAYCLUSTERS, SHARED)
        self.until(lambda: not self.names(RAYJOBS), "the RayJob is gone")
        for resource in (RAYCLUSTERS, BATCH_JOBS, PODS):
            self.until(functools.partial(self._has_none, resource), f"no {resource} is left")
        gone = "SELECT NOT open FROM job WHERE name = %s"
        self.until(lambda: bool(self.site.value(gone, name)), "the ledger says that it is gone")

    def _has_none(self, resource: str) -> bool:
        return not self.names(resource)

    def names(self, resource: str) -> list[str]:
        """Return the names of the objects of a kind that are there."""
        return [item["metadata"]["name"] for item in self.site.api.list(resource).body["items"]]


@dataclass
class _Course:
    """The course of one life."""

    lane: Lane
    life: Life
    name: str
    own: Path
    witness: Witness
    patience: int

    def run(self, before: int) -> Led:
        """Live it; return how it was, which was found whole."""
        lane, life = self.lane, self.life
        lane.see_to_controller()
        made = lane.site.submit(life.manifest(self.name, self.own, self.patience))
        stream = identify("default", made).stream_id
        for step in life.steps:
            lane.until(functools.partial(self._is_time_for, step), f"{self.name}: {step}")
            self._do(step.act)
        lane.until(lambda: self._phase() == life.phase, f"{self.name} is {life.phase}")
        lane.until(lambda: self._is_settled(stream), "nothing of the job is left to do")
        passages = tuple(journal(lane.site.directory)[before:])
        self._assert_whole(stream, dead=any(item.deadly for item in passages))
        return Led(
            end=end_in(lane.ledger, stream),
            clusters=len(self.witness.lives(RAYCLUSTERS)),
            submitters=len(self.witness.lives(BATCH_JOBS)),
            runs=self._runs(),
            passages=passages,
        )

    def _is_time_for(self, step: Step) -> bool:
        return self._phase() == step.phase and self._runs() == step.runs

    def _do(self, act: Act) -> None:
        site = self.lane.site
        match act:
            case Act.SUSPEND:
                site.change(self.name, suspend=True)
            case Act.RESUME:
                (self.own / "gate").touch()
                site.change(self.name, suspend=False)
            case Act.DELETE:
                site.api.delete(RAYJOBS, self.name)
            case Act.MAKE_CLUSTER:
                assert site.api.create(RAYCLUSTERS, shared_cluster()).code == 201  # Created
            case Act.SUCCEED:
                self.lane.succeed()

    def _phase(self) -> str:
        told = self.witness.told(RAYJOBS, self.name)
        if not told or told[-1].verb == "DELETED":
            return ""
        return text(told[-1].document, "status", "jobDeploymentStatus")

    def _runs(self) -> int:
        file = self.own / "runs"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def _is_settled(self, stream: StreamId) -> bool:
        """Return whether the job is over by its ledger, and no RayCluster of it is there."""
        lane = self.lane
        (row,) = lane.site.rows("SELECT open FROM job WHERE stream_id = %s", stream) or [{}]
        if not row or row["open"] is not self.life.stays_open:
            return False
        left = bool(lane.names(RAYCLUSTERS))
        return left is self.life.keeps_cluster and not self._status_differs(stream)

    def _status_differs(self, stream: StreamId) -> bool:
        reply = self.lane.site.api.get(RAYJOBS, self.name)
        if reply.code == 404:  # Not Found
            return self.life.phase != ""
        shown, folded = reply.body.get("status", {}), folded_status(self.lane.ledger, stream)
        return differing(shown, folded) != {}

    def _assert_whole(self, stream: StreamId, *, dead: bool) -> None:
        """Assert that nothing was doubled, leaked or lost."""
        lane = self.lane
        assert_ledger_whole(lane.ledger, stream)
        for resource in (RAYCLUSTERS, BATCH_JOBS):
            lives = self.witness.lives(resource)
            ends = [life.ended for life in lives]
            assert all(
                ended is not None and ended < after.begun
                for ended, after in zip(ends, lives[1:], strict=False)
            ), f"two {resource} at once: {lives}"
            assert len(lives) <= len(lane.ledger.history.attempts(stream)), lives
        names = [life.name for life in self.witness.lives(RAYCLUSTERS)]
        assert len(set(names)) == len(names), names
        told, expected = self._told(), announced(lane.ledger, stream)
        assert told <= expected, f"told twice, or unfounded: {told - expected}"
        if not dead:
            lane.until(lambda: self._told() == expected, f"{expected} is told to users")

    def _told(self) -> Counter[tuple[str, str]]:
        events = self.lane.site.api.list(KUBERNETES_EVENTS).body["items"]
        return Counter(
            (text(item, "reason"), text(item, "note"))
            for item in events
            if text(item, "regarding", "name") == self.name
            and text(item, "reportingController") == "rayjob-controller"
        )


@contextmanager
def open_lane(site: Site, forks: Forks, ledger: Ledger) -> Iterator[Lane]:
    """Give a lane; nothing of it runs afterwards."""
    lane = Lane(site, forks, ledger)
    try:
        yield lane
    finally:
        lane.stop()
