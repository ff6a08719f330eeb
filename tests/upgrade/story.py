"""The story: jobs run all the while, and the program under them is changed to and fro.

Each stage has a job that begins before the change and ends after it, and one that begins after it.
At the end every job has run exactly as often as it should have, and both programs agree that the
log is whole and the tables are its fold.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.acceptance.jobs import counting, rayjob, runs, waiting_for
from tests.acceptance.site import Site
from tests.support.processes import Controller, Terminal
from tests.upgrade.earlier import Earlier

LOG_CHARACTERS = 8000
COMPUTED_OTHERWISE = {("attempt", "ended_at")}
"""Tables and columns of which the changelog says that `rebuild` is to be run after an upgrade.

Since schema 0120 the attempt of a RayJob ends when Ray says. Empty it with the next migration.
"""
FAILS = 1
"""So often each job of a counter fails, and is retried."""


@dataclass
class Story:
    """The site, the two programs, and the jobs so far."""

    site: Site
    earlier: Earlier
    say: Callable[[str], None]
    gates: dict[str, Path] = field(default_factory=dict)
    counters: dict[str, Path] = field(default_factory=dict)

    @property
    def old(self) -> Terminal:
        """A terminal in which `jobledger` is the earlier program."""
        return self.site.terminal.with_environment(PYTHONPATH=str(self.earlier.place))

    @property
    def new(self) -> Terminal:
        """A terminal in which it is the one under test."""
        return self.site.terminal

    def old_controller(self, replica: str = "old") -> Controller:
        """Return a controller of the earlier program, not started yet."""
        return replace(self.site, terminal=self.old).controller(replica)

    def new_controller(self) -> Controller:
        """Return a controller of the program under test, not started yet."""
        return self.site.controller("new")

    def begin(self, name: str) -> None:
        """Submit a job that runs until its gate is opened; return when it runs."""
        gate = self.gates[name] = self.site.directory / f"{name}.gate"
        self.site.submit(rayjob(name, waiting_for(gate, seconds=300), backoffLimit=1))
        self._wait(name, "phase = 'Running'")

    def end(self, name: str) -> None:
        """Open the gate of a job; return when it is Complete."""
        self.gates[name].touch()
        self._wait(name, "phase = 'Complete'")

    def whole(self, name: str) -> None:
        """Let a job fail once, be retried and succeed."""
        counter = self.counters[name] = self.site.directory / f"{name}.runs"
        entrypoint = counting(counter, fails=FAILS)
        self.site.submit(rayjob(name, entrypoint, backoffLimit=1, shutdownAfterJobFinishes=True))
        self._wait(name, "phase = 'Complete'")

    def _wait(self, name: str, condition: str) -> None:
        what = f"{name}: {condition}"
        query = f"SELECT coalesce((SELECT {condition} FROM job WHERE name = %s), false)"
        self.site.wait_for_true(what, query, name)

    def judge(self, terminal: Terminal) -> None:
        """Let a program say that the log is whole and the tables follow from it.

        What the two programs compute otherwise is put right by the command that the changelog
        names; nothing else may differ.
        """
        terminal.jobledger("verify")
        found = json.loads(terminal.jobledger("rebuild", "--check", "-o", "json", code=None).out)
        other = [one for one in found if (one["table"], one["column"]) not in COMPUTED_OTHERWISE]
        assert not other, f"rows are not the fold of the log: {other}"
        terminal.jobledger("rebuild")
        terminal.jobledger("rebuild", "--check")

    def judge_jobs(self) -> None:
        """See that every job ran as often as it should have, and none was begun twice."""
        for name, counter in self.counters.items():
            assert runs(counter) == FAILS + 1, f"{name} ran {runs(counter)} times"
        begun = self.site.rows(
            "SELECT name, (SELECT count(*) FROM attempt a WHERE a.stream_id = j.stream_id) AS n "
            "FROM job j"
        )
        wanted = {name: FAILS + 1 if name in self.counters else 1 for name in self._names}
        assert {row["name"]: row["n"] for row in begun} == wanted

    @property
    def _names(self) -> list[str]:
        return [*self.gates, *self.counters]


def tell(story: Story) -> None:
    """Tell it: up under the running old program, on with the new one, and back."""
    with _stage(story, "the earlier program works on its own schema"):
        story.old.jobledger("db", "upgrade")
        first = story.old_controller()
        first.start()
        story.whole("old-on-old")
        story.begin("through-the-upgrade")
    try:
        _up(story, first)
        _back(story)
        _up_again(story)
    finally:
        first.kill()


def _up(story: Story, old: Controller) -> None:
    with _stage(story, "the schema goes up while it runs, and it goes on"):
        story.new.jobledger("db", "upgrade")
        story.whole("old-on-new")
        story.end("through-the-upgrade")
        story.begin("from-old-to-new")
    with _standing_by(story) as new:
        story.begin("beside")
        assert old.running, "the old one works on"
        assert old.terminate() == 0
        story.end("from-old-to-new")
        story.end("beside")
        story.whole("new-on-new")
        story.begin("from-new-to-old")
        story.judge(story.new)
        assert new.terminate() == 0


@contextmanager
def _standing_by(story: Story) -> Iterator[Controller]:
    """Let the new program start: it is not ready as long as the old one holds every shard."""
    story.say("the new program stands beside it, and takes over when it stops")
    new = story.new_controller()
    try:
        new.start(until_ready=False)
        yield new
    except BaseException as error:
        error.add_note(f"log of the new program:\n{new.log[-LOG_CHARACTERS:]}")
        raise
    finally:
        new.kill()


def _back(story: Story) -> None:
    with _stage(story, "back: the schema goes down, the earlier program takes over"):
        story.new.jobledger("db", "downgrade", story.earlier.newest_migration, "--yes")
        with story.old_controller("old-again") as again:
            story.end("from-new-to-old")
            story.whole("old-after-new")
            story.begin("up-again")
            story.judge(story.old)
            assert again.terminate() == 0


def _up_again(story: Story) -> None:
    with _stage(story, "and up again"):
        story.new.jobledger("db", "upgrade")
        with story.new_controller() as new:
            story.end("up-again")
            story.judge(story.new)
            assert new.terminate() == 0
        story.judge_jobs()


@contextmanager
def _stage(story: Story, what: str) -> Iterator[None]:
    story.say(what)
    yield
