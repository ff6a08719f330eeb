"""One run: first faults, then calm. One seed gives one run, step by step the same."""

import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog

from jobledger.core.errors import ObjectNotFound, RequestForbidden
from tests.simulation.clocks import SKEW_SECONDS_MAX
from tests.simulation.nature import Move
from tests.simulation.ports import Crash
from tests.simulation.replica import LEASE_SECONDS, POLL_SECONDS, Replica
from tests.simulation.setting_back import EVERY, KNOWN_ERRORS
from tests.simulation.training import is_real
from tests.simulation.verdict import check_all, holds_any, unheld, unrest
from tests.simulation.witness import Violation, require
from tests.simulation.world import World

Weighted = tuple[float, str, Callable[[], object]]

CALM_ROUNDS_MAX = 900
"""Rounds after which a world that does not come to rest is stuck."""

HELD_ROUNDS = 4
"""So many rounds more are waited while a job is held: its shard may be on its way to another."""

CALM_ROUND_STEPS_MAX = 400
RESTS_MAX = 3
"""A job that is kept from going on is still asked about; that may bring some last news."""

STEP_SECONDS = 0.001
"""How long everything takes: no two things happen at the same instant."""

ALREADY = "an event with this id is there already"
"""What a watch that lags behind another process brings: taken in before, decided about otherwise.
The ids of the events tell, and it is dropped; that is no bug."""

EARLY_STEPS = 15
"""So soon there is a job, most times."""

NESTED_STEPS = 3
"""How much others do while one waits for the ledger."""


@dataclass
class Run:
    """Drives a world; `tell` gets one line per step."""

    seed: int
    tell: Callable[[str], None] | None = None
    steps: int = 0
    loses: bool = False
    """Whether the ledger loses its last events now and then."""
    _executing: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(self.seed, self._while_waiting, self.loses)
        self.dice = self.world.dice
        self._renewed: dict[str, float] = {}

    def to_the_end(self) -> None:
        """Go through the whole run.

        Raises:
            Violation: an invariant does not hold.
        """
        with errors_are_violations(KNOWN_ERRORS if self.loses else frozenset()):
            for name in "ab"[: self.world.profile.replicas]:
                self.world.start_replica(name)
            for step in range(self.world.profile.steps):
                if self.loses and step % EVERY == EVERY - 1:
                    self._do("ledger", self.world.lose_events)
                self._step(self._choices())
            self._calm()
            check_all(self.world)

    def summary(self) -> str:
        """Return how long it was, in words."""
        world = self.world
        return (
            f"{self.steps} steps, {world.clock.monotonic():.0f} s, "
            f"{world.witness.jobs()} jobs, {world.log.last_position()} events"
        )

    def _step(self, choices: list[Weighted]) -> None:
        weights = [weight for weight, _, _ in choices]
        _, what, move = self.dice.choices(choices, weights)[0]
        self._do(what, move)

    def _do(self, what: str, move: Callable[[], object]) -> object:
        """Do one thing and return what it returned; a process that dies of it is replaced."""
        world = self.world
        actor = what.split(" ", 1)[0]
        world.clock.advance(STEP_SECONDS)
        self._executing.append(actor)
        try:
            result = move()
        except Crash as crash:
            if crash.actor in self._executing[:-1]:
                raise  # what called us is of the same process
            result = str(crash)
            self._replace(crash.actor)
        finally:
            self._executing.pop()
        self.steps += 1
        world.witness.check_one_cluster()
        self._tell(what, result)
        return result

    def _tell(self, what: str, result: object) -> None:
        world = self.world
        news, happened = world.witness.news, world.faults.happened
        if self.tell is not None and (news or happened or result is not False):
            seconds = world.clock.monotonic()
            said = [f"seed {self.seed}", f"{seconds:9.3f} s", f"step {self.steps}", what]
            said += [result] if isinstance(result, str) else []
            said += [f"[{fault}]" for fault in happened]
            said += [f"{job}: {event}" for job, event in news]
            pending = world.witness.pending()
            said.append(f"pending {pending}")
            self.tell(" | ".join(said))
        news.clear()
        happened.clear()

    def _replace(self, actor: str) -> None:
        for replica in list(self.world.replicas):
            if replica.actor == actor:
                self.world.end_replica(replica)
                self.world.start_replica(actor.partition("/")[0])

    def _choices(self) -> list[Weighted]:
        world, profile = self.world, self.world.profile
        now = world.clock.monotonic()
        choices: list[Weighted] = [(1.5, "time", self._let_time_pass)]
        for replica in world.replicas:
            if replica.frozen_until <= now:
                choices += self._of_replica(replica)
        moves = world.moves()
        if moves:
            choices.append((profile.nature, "nature", lambda: self._any_of(moves)))
        wish = profile.users if self.steps > EARLY_STEPS else 6.0
        choices.append((wish, "users", lambda: self._any_of(world.wishes())))
        if owed := world.users.owed():
            choices.append((1.0, "users", lambda: self._any_of(owed)))
        trouble = profile.nature_trouble
        choices.append((trouble, "trouble", lambda: self._any_of(world.troubles())))
        if world.faults.late:
            choices.append((0.4, "net", self._land_late))
        if world.lapses.taken:
            choices.append((2.0, "ledger gives a lease back", world.lapses.give_back))
        return choices

    def _of_replica(self, replica: Replica, *, turn: bool = True) -> Iterator[Weighted]:
        profile, name = self.world.profile, replica.actor
        if turn:
            yield profile.turns if len(replica.inbox) else 0.5, f"{name} turn", replica.take_turn
        if len(replica.workers):
            yield profile.workers, f"{name} worker", replica.workers.run_once
        if len(replica.polls):
            yield 1.5, f"{name} poll", replica.polls.run_once
        yield 1.0, f"{name} alarms", lambda: len(replica.alarms.fire_due()) > 0
        yield 0.2, f"{name} herald", replica.event_recorder.run_once
        yield 0.6, f"{name} renews", replica.controller.renew_leases
        yield 0.2, f"{name} sums up", replica.sum_up
        yield 0.1, f"{name} looks around", replica.controller.look_around
        for watch in replica.ports.watches.all:
            about = f"{name} hears of {watch.resource.plural}"
            if watch.has_news:
                yield profile.watches, about, watch.deliver
            if watch.has_told:
                yield profile.watch_trouble / 6, f"{about} again", watch.repeat
                broken = f"{about}: 410"
                yield profile.watch_trouble / 9, broken, partial(watch.break_off, "410 Gone")
        yield profile.freeze, f"{name} stands still", lambda: self._freeze(replica)
        yield profile.clock_step, f"{name} clock steps", lambda: self._step_clock(replica)
        if self.world.shares and profile.replicas > 1:
            yield 0.1, f"{name} is deaf", lambda: self._deafen(replica)
        if self.world.lapses.present:
            yield 0.3, f"{name} has no claim", lambda: self._lapse(replica)
            yield 0.3, f"{name} loses a lease", lambda: self._take_a_lease(replica)

    def _any_of(self, moves: list[Move]) -> str | bool:
        if not moves:
            return False
        what, move = self.dice.choice(moves)
        try:
            move()
        except (ObjectNotFound, RequestForbidden) as error:  # the namespace ends
            return f"{what}: {error}"
        return what

    def _let_time_pass(self) -> str:
        seconds = self.dice.choice((0.05, 0.3, 1.0, 1.0, 3.0, 8.0))
        self.world.clock.advance(seconds)
        return f"{seconds} s"

    def _freeze(self, replica: Replica) -> str:
        seconds = self.dice.choice((3.0, LEASE_SECONDS * 1.2, LEASE_SECONDS * 3))
        replica.frozen_until = self.world.clock.monotonic() + seconds
        return f"for {seconds} s"

    def _deafen(self, replica: Replica) -> str:
        """Let a process say that it does not hear the API server."""
        seconds = self.dice.choice((1.0, LEASE_SECONDS, LEASE_SECONDS * 2))
        replica.deaf_until = self.world.clock.monotonic() + seconds
        return f"for {seconds} s"

    def _lapse(self, replica: Replica) -> str:
        """Let the claim of a process lapse, as far as it knows; nobody else takes it."""
        seconds = self.dice.choice((0.01, 0.1, 1.0, LEASE_SECONDS))
        replica.lapsed_until = self.world.clock.monotonic() + seconds
        return f"for {seconds} s"

    def _take_a_lease(self, replica: Replica) -> str | bool:
        return self.world.lapses.take(replica.actor, self.world.shards_with_jobs(), self.dice)

    def _step_clock(self, replica: Replica) -> str:
        seconds = self.dice.uniform(-SKEW_SECONDS_MAX, SKEW_SECONDS_MAX)
        replica.clock.set_skew(seconds)
        return f"to {seconds:+.2f} s"

    def _land_late(self) -> str:
        return self.world.land_late(self.dice.randrange(len(self.world.faults.late)))

    def _while_waiting(self, actor: str, seconds: float) -> None:
        """Let the world go on while a process waits for the ledger."""
        self.world.clock.advance(seconds)
        if len(self._executing) > 1:
            return
        now = self.world.clock.monotonic()
        for _ in range(NESTED_STEPS):
            choices: list[Weighted] = [(4.0, "nature", lambda: self._any_of(self.world.moves()))]
            for replica in self.world.replicas:
                if replica.frozen_until <= now:
                    choices += self._of_replica(replica, turn=replica.actor != actor)
            self._step(choices)

    def _calm(self) -> None:
        """Let everything go well until nothing moves any more."""
        world = self.world
        world.faults.calm = True
        world.lapses.end()
        while world.faults.late:
            self._do("net", self._land_late)
        for replica in world.replicas:
            replica.frozen_until = replica.deaf_until = replica.lapsed_until = 0.0
            replica.clock.set_skew(0)
        reason, quiet = "", 0
        for _ in range(CALM_ROUNDS_MAX):
            self._calm_round()
            reason = unrest(world) or unheld(world)
            quiet = 0 if reason else quiet + 1
            # A job that is held is looked at again after a second, or by who gets its shard.
            if quiet > self.loses + (HELD_ROUNDS if holds_any(world) else 0):
                self._rest()
                return
            self._do("time", self._jump)
        raise Violation(f"after {CALM_ROUNDS_MAX} rounds of calm: {reason}")

    def _rest(self) -> None:
        """Look once more after a while: what rests stays at rest."""
        world = self.world
        for _ in range(RESTS_MAX):
            before = world.log.last_position()
            for _ in range(4):
                world.clock.advance(LEASE_SECONDS / 3)
                self._calm_round()
            reason = unrest(world)
            require(not reason, f"it does not stay at rest: {reason}")
            if world.log.last_position() == before:
                return
        raise Violation("events are appended though nothing happens")

    def _calm_round(self) -> None:
        """Let everybody do all there is to do now."""
        world = self.world
        for replica in world.replicas:
            self._do(f"{replica.actor} renews", replica.controller.renew_leases)
            self._do(f"{replica.actor} looks around", replica.controller.look_around)
            if is_real(self.seed):  # what Pods report waits for it
                self._do(f"{replica.actor} sums up", replica.sum_up)
        for _ in range(CALM_ROUND_STEPS_MAX):
            moved = False
            for replica in world.replicas:
                moved = self._drain(replica) or moved
            moves = world.moves() or world.owed()
            if moves:
                what, move = moves[0]
                self._do(f"nature {what}", move)
            elif not moved:
                return
        raise Violation("somebody is busy without end")

    def _drain(self, replica: Replica) -> bool:
        """Let a process do what it can do now; return whether it did anything."""
        moved = False
        for watch in replica.ports.watches.all:
            while watch.has_news:
                self._do(f"{replica.actor} hears of {watch.resource.plural}", watch.deliver)
                moved = True
        moved = moved or replica.inbox.size > 0
        self._do(f"{replica.actor} turn", replica.take_turn)
        parts = (
            ("worker", replica.workers.run_once),
            ("poll", replica.polls.run_once),
            ("alarms", lambda: len(replica.alarms.fire_due()) > 0),
            ("herald", replica.event_recorder.run_once),
        )
        for name, run_once in parts:
            while self._did(f"{replica.actor} {name}", run_once):
                moved = True
        return moved or replica.takes_over()

    def _did(self, what: str, run_once: Callable[[], bool]) -> bool:
        return self._do(what, run_once) is True

    def _jump(self) -> str:
        seconds = min(POLL_SECONDS, LEASE_SECONDS / 3)
        self.world.clock.advance(seconds)
        return f"{seconds} s"


@contextmanager
def errors_are_violations(known: Collection[str] = ()) -> Iterator[None]:
    """Let every line that the service logs as an error end the run, but for those `known`."""

    def judge(logger: object, method: str, line: structlog.typing.EventDict) -> str:
        del logger
        poisoned = line["event"] == "append_poisoned" and ALREADY in line["error"]
        if poisoned or line["event"] in known:
            raise structlog.DropEvent
        trouble = traceback.format_exc() if line.get("exc_info") or method == "exception" else ""
        raise Violation(f"logged as an error: {dict(line)} {trouble}")

    before = structlog.get_config()
    structlog.configure(
        processors=[judge],
        wrapper_class=structlog.make_filtering_bound_logger(40),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def run(seed: int, tell: Callable[[str], None] | None = None) -> Run:
    """Run one seed to its end; raise `Violation` if an invariant does not hold."""
    one = Run(seed, tell)
    one.to_the_end()
    return one
