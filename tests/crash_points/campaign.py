"""Recording what a life passes through, and killing the controller at each of those points.

The plan is made from the recording, the recording from the ports: no point is written down by hand.
"""

import itertools
import math
import queue
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from tests.crash_points.lane import Lane, Led
from tests.crash_points.lives import Act, Life
from tests.crash_points.trap import MOMENTS, Moment, Order, Passage, give, journal, withdraw
from tests.support.effectful_steps import wanted_points
from tests.support.ledgers import tampering

_OF_A_TRAINJOB = "no life of a TrainJob is led by real processes yet: see test_trainjobs"
_OF_A_JOB = "no life of a batch Job is led by real processes yet: see test_batch_jobs"
_OF_A_GANG = "it takes an installation whose Pods Volcano places: see the life in memory"

UNSEEN: Mapping[str, str] = {
    "apply_objects": _OF_A_TRAINJOB,
    "apply_pod_group": _OF_A_GANG,
    "clear_pod_group": _OF_A_GANG,
    "delete_jobset": _OF_A_TRAINJOB,
    "create_attempt_job": _OF_A_JOB,
    "delete_attempt_job": _OF_A_JOB,
    "suspend_attempt_job": _OF_A_JOB,
    "resume_attempt_job": _OF_A_JOB,
}
"""Kinds of effects that no life here brings about, with the reason; the lives in memory do."""

TRIES_MAX = 4
"""So often a point is gone for; two steps at once may come in another order."""

SAMPLE_EVERY = 8
"""A sample has one in so many of a life's points beyond those that no shorter life has.

The lives in memory (`tests/adapters/service/test_crash_points.py`) die at every point of each.
"""

TOLD_EVERY = 50
"""After so many lives somebody who waits is told how far it is."""

DEATHS_OF_A_LIFE = 4
"""So many controllers die in one life where each point is hit once, with a long way between them.

Nobody can die in a life that has come to a stop: who does not go on after one death is found by the
next. What a second death would hide is found where each has a life of its own: in memory, and by
`python -m tests.crash_points`.
"""

Item = TypeVar("Item")
Result = TypeVar("Result")
Spot = tuple[str, Moment]
Task = tuple["Chapter", Order]
Course = tuple["Chapter", Sequence[Order]]
Say = Callable[[str], None]


class Thoroughness(StrEnum):
    """How many of the points are gone for."""

    ONCE = "once"
    """Each point before or after, in turns, in the shortest life that passes it; several a life."""
    SAMPLE = "sample"
    """Each point before and after, in the shortest life that passes it; some of each other life."""
    LIVES = "lives"
    """Each point of each life before and after."""
    HITS = "hits"
    """Every single step of each life before and after."""


@dataclass
class Chapter:
    """What was found about one life."""

    life: Life
    recorded: Led
    hit: set[Spot] = field(default_factory=set)
    """Points at which a controller has died, and before or after which.

    Where a single death of each point is asked for, it stands for both.
    """
    kills: int = 0

    @property
    def passages(self) -> list[Passage]:
        """Return what was recorded, without what the clock alone brings: the renewal of leases."""
        succeeds = any(step.act is Act.SUCCEED for step in self.life.steps)
        return [
            passage
            for passage in self.recorded.passages
            if succeeds or not passage.points[0].startswith("Leases.")
        ]

    @property
    def points(self) -> set[str]:
        """Return all points that were recorded."""
        return {point for passage in self.passages for point in passage.points}

    @property
    def wanted(self) -> set[Spot]:
        """Return the same, before and after."""
        return {(point, moment) for point in self.points for moment in MOMENTS}

    @property
    def sure(self) -> set[str]:
        """Return the points that this life passes whatever comes first."""
        return self.points & wanted_points(UNSEEN)


def firsts_of(passages: Sequence[Passage]) -> list[tuple[str, ...]]:
    """Return per step of a recording the points that it is the first to hit, if there are any."""
    known: set[str] = set()
    found = []
    for passage in passages:
        new = tuple(point for point in passage.points if point not in known)
        if new and passage.moment == "before":
            found.append(new)
        known.update(new)
    return found


def orders_of(passages: Sequence[Passage]) -> list[Order]:
    """Return an order for every single step of a recording, before and after."""
    orders: list[Order] = []
    hits: Counter[str] = Counter()
    for passage in passages:
        if passage.moment == "before":
            hits.update(passage.points)
            rarest = min(reversed(passage.points), key=hits.__getitem__)
            orders += [Order(point=rarest, moment=m, hit=hits[rarest]) for m in MOMENTS]
    return orders


def plan(chapters: Sequence[Chapter], thoroughness: Thoroughness) -> list[Task]:
    """Return whom to kill where."""
    if thoroughness is Thoroughness.HITS:
        return [(item, order) for item in chapters for order in orders_of(item.passages)]
    tasks: list[Task] = []
    aimed: set[str] = set()
    turns = itertools.cycle(MOMENTS)
    for chapter in _shortest_first(chapters):
        known = set() if thoroughness is Thoroughness.LIVES else aimed
        for points in firsts_of(chapter.passages):
            new = [point for point in points if point not in known]
            moments = (next(turns),) if thoroughness is Thoroughness.ONCE else MOMENTS
            tasks += [(chapter, Order(point=p, moment=m)) for p in new[-1:] for m in moments]
        aimed |= chapter.points
    if thoroughness is Thoroughness.SAMPLE:
        tasks += [task for chapter in chapters for task in _some(chapter)]
    return tasks


def shared(tasks: Sequence[Task]) -> list[Course]:
    """Return the same with several orders for each life, as far from each other as can be."""
    orders: dict[str, tuple[Chapter, list[Order]]] = {}
    for chapter, order in tasks:
        orders.setdefault(chapter.life.name, (chapter, []))[1].append(order)
    return [
        (chapter, own[first::lives])
        for chapter, own in orders.values()
        for lives in [math.ceil(len(own) / DEATHS_OF_A_LIFE)]
        for first in range(lives)
    ]


def _some(chapter: Chapter) -> Iterator[Task]:
    """Yield a few tasks from all over a life."""
    few = firsts_of(chapter.passages)[::SAMPLE_EVERY]
    for points, moment in zip(few, itertools.cycle(MOMENTS), strict=False):
        yield chapter, Order(point=points[-1], moment=moment)


def missed(chapters: Sequence[Chapter], thoroughness: Thoroughness) -> list[Task]:
    """Return whom to kill where, because nobody has died there yet."""
    hit = {spot for chapter in chapters for spot in chapter.hit}
    found: dict[tuple[str, ...], Task] = {}
    for chapter in _shortest_first(chapters):
        anywhere = thoroughness in {Thoroughness.ONCE, Thoroughness.SAMPLE}
        for point, moment in sorted(chapter.wanted - (hit if anywhere else chapter.hit)):
            where = "" if anywhere else chapter.life.name
            task = chapter, Order(point=point, moment=moment)
            found.setdefault((where, point, moment), task)
    return list(found.values())


def _shortest_first(chapters: Sequence[Chapter]) -> list[Chapter]:
    return sorted(chapters, key=lambda chapter: len(chapter.passages))


def unhit(
    chapters: Sequence[Chapter], thoroughness: Thoroughness, elsewhere: set[Spot]
) -> list[str]:
    """Return where somebody had to die and nobody did: of the points that do not hang on chance.

    `elsewhere` has died whoever is no controller.
    """
    anywhere = {spot for chapter in chapters for spot in chapter.hit} | elsewhere
    everywhere = {(point, moment) for point in wanted_points(UNSEEN) for moment in MOMENTS}
    left = [f"{moment} {point}, in no life" for point, moment in sorted(everywhere - anywhere)]
    for chapter, order in missed(chapters, thoroughness):
        if order.point in chapter.sure:
            left.append(f"{order}, in {chapter.life.name}")
    return left


@dataclass(frozen=True)
class Findings:
    """What came of a campaign in which everything ended as it should."""

    chapters: Sequence[Chapter]
    rebuilding: set[Spot]
    """Where `jobledger rebuild` has died."""
    by_chance: Sequence[Task]
    """Where nobody has died, in the end: the point was passed once, and then no more."""
    unhit: Sequence[str]
    """Where somebody had to die and nobody did."""

    def lines(self) -> Iterator[str]:
        """Yield what there is to say."""
        for chapter in self.chapters:
            yield _line(chapter.life.name, len(chapter.points), chapter.kills)
        points = {point for chapter in self.chapters for point in chapter.points}
        yield _line("together", len(points), sum(chapter.kills for chapter in self.chapters))
        for chapter, order in self.by_chance:
            yield f"passed by chance only: {chapter.life.name}, {order}"
        for what in self.unhit:
            yield f"NOT HIT: {what}"


def _line(name: str, points: int, deaths: int) -> str:
    return f"{name:<22}{points:>4} points {deaths:>4} deaths"


@dataclass
class Campaign:
    """Many lanes that work off one list of lives."""

    lanes: Sequence[Lane]
    thoroughness: Thoroughness
    say: Say
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def run(self, lives: Iterable[Life]) -> Findings:
        """Record every life, then kill at every point of each; return what was found.

        Then rebuilding is killed, and every ledger checked by the commands of a user.

        Raises:
            AssertionError: as `Lane.lead`, or an end differs from the one without a crash.
        """
        chapters = [Chapter(life, led) for life, led in self._record(list(lives))]
        tasks = plan(chapters, self.thoroughness)
        for patience in range(1, TRIES_MAX + 1):
            self.say(f"round {patience}: {len(tasks)} deaths were ordered")
            together = self.thoroughness is Thoroughness.ONCE and patience == 1
            alone: list[Course] = [(chapter, [order]) for chapter, order in tasks]
            self._kill(shared(tasks) if together else alone, patience)
            tasks = missed(chapters, self.thoroughness)
        rebuilding = self._rebuild()
        self._check_ledgers()
        return Findings(chapters, rebuilding, tasks, unhit(chapters, self.thoroughness, rebuilding))

    def _rebuild(self) -> set[Spot]:
        """Kill `jobledger rebuild` too, where a row is wrong; return where it died."""
        lane = self.lanes[0]
        before = len(journal(lane.site.directory))
        for moment in MOMENTS:
            with tampering(lane.site.database_url) as superuser:
                superuser.execute("UPDATE job SET version = version + 1")
            give(lane.site.directory, Order(point="Projections.replace_rows", moment=moment))
            lane.command("rebuild")
            withdraw(lane.site.directory)
        lane.site.terminal.jobledger("rebuild")
        passed = journal(lane.site.directory)[before:]
        return {(point, item.moment) for item in passed if item.deadly for point in item.points}

    def _check_ledgers(self) -> None:
        """Let `jobledger verify` and `rebuild --check` look at every ledger.

        Raises:
            AssertionError: one of them found something.
        """
        for lane in self.lanes:
            lane.site.terminal.jobledger("verify")
            lane.site.terminal.jobledger("rebuild", "--check")

    def _record(self, lives: list[Life]) -> list[tuple[Life, Led]]:
        def record(lane: Lane, life: Life) -> tuple[Life, Led]:
            return life, lane.lead(life, self._name(life))

        return self._share(lives, record)

    def _kill(self, courses: list[Course], patience: int) -> None:
        ordinals = itertools.count(1)

        def kill(lane: Lane, course: Course) -> None:
            chapter, orders = course
            if (number := next(ordinals)) % TOLD_EVERY == 0:
                self.say(f"         {number} of {len(courses)}")
            left = [
                order
                for order in orders
                if order.hit > 1 or (order.point, order.moment) not in chapter.hit
            ]
            if left:
                name = self._name(chapter.life)
                led = lane.lead(chapter.life, name, left, patience)
                assert led.end == chapter.recorded.end, f"{name}, {', '.join(map(str, left))}"
                self._note(chapter, led)

        self._share(courses, kill)

    def _note(self, chapter: Chapter, led: Led) -> None:
        once = self.thoroughness is Thoroughness.ONCE
        for death in led.deaths:
            chapter.kills += 1
            moments = MOMENTS if once else (death.moment,)  # either does
            chapter.hit |= {(point, moment) for point in death.points for moment in moments}

    def _name(self, life: Life) -> str:
        return f"{life.name}-{next(self.numbers)}"

    def _share(self, items: list[Item], work: Callable[[Lane, Item], Result]) -> list[Result]:
        """Work off a list, each lane one item at a time; the first error ends it."""
        free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
        for lane in self.lanes:
            free.put(lane)

        def one(item: Item) -> Result:
            lane = free.get()
            try:
                return work(lane, item)
            finally:
                free.put(lane)

        with ThreadPoolExecutor(len(self.lanes)) as pool:
            futures = [pool.submit(one, item) for item in items]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(cancel_futures=True)
