"""How far a process trusts the leases it holds: less than the database says."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from structlog.testing import capture_logs

from jobledger.adapters.service.shards.leasing import MARGIN_SECONDS, LeaseKeeper
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.ports.leases import Lease
from jobledger.core.values.ids import SHARDS, shard_of
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.leases import MemoryLeases
from tests.support.records import NOON, a_stream

JOB = a_stream()
SHARD = shard_of(JOB)
SECONDS = 15.0


class Unreachable(MemoryLeases):
    """A table of leases whose database can go away."""

    is_away = False

    def acquire(self, owner: str, duration: timedelta, wanted: int) -> Mapping[int, Lease]:
        if self.is_away:
            raise LedgerUnavailable("gone for lunch")
        return super().acquire(owner, duration, wanted)

    def release(self, owner: str, shards: Collection[int] | None = None) -> None:
        if self.is_away:
            raise LedgerUnavailable("gone for lunch")
        super().release(owner, shards)


class Bench:
    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = Unreachable(self.clock.now)
        self.keeper = self.a_keeper("a/1")

    def a_keeper(self, owner: str) -> LeaseKeeper:
        return LeaseKeeper(self.table, self.clock, owner, SECONDS)

    def take_up(self, keeper: LeaseKeeper) -> LeaseKeeper:
        keeper.renew()
        keeper.take_up(keeper.held())
        return keeper


def test_a_single_replica_holds_every_shard() -> None:
    bench = Bench()
    bench.keeper.renew()
    assert set(bench.keeper.held()) == set(range(SHARDS))
    assert bench.keeper.epoch(SHARD) == 1


def test_nothing_is_done_for_a_shard_before_its_jobs_are_taken_up() -> None:
    bench = Bench()
    bench.keeper.renew()
    assert not bench.keeper.may_act(JOB)
    assert bench.keeper.shards() == frozenset()
    bench.keeper.take_up(bench.keeper.held())
    assert bench.keeper.may_act(JOB)
    assert len(bench.keeper.shards()) == SHARDS


def test_it_stops_acting_before_the_lease_ends_when_the_database_is_away() -> None:
    bench = Bench()
    keeper = bench.take_up(bench.keeper)
    bench.table.is_away = True
    bench.clock.advance(SECONDS - MARGIN_SECONDS - 0.001)
    keeper.renew()
    assert keeper.may_act(JOB)
    bench.clock.advance(0.001)
    assert not keeper.may_act(JOB)
    assert bench.table.current()[SHARD].until > bench.clock.now(), "the table still says it holds"


def test_it_acts_again_once_the_lease_is_renewed_under_the_same_epoch() -> None:
    bench = Bench()
    keeper = bench.take_up(bench.keeper)
    bench.clock.advance(SECONDS)
    assert not keeper.may_act(JOB)
    keeper.renew()
    assert keeper.may_act(JOB)


def test_the_time_that_renewing_takes_counts_against_the_lease() -> None:
    class Slow(Unreachable):
        def acquire(self, owner: str, duration: timedelta, wanted: int) -> Mapping[int, Lease]:
            granted = super().acquire(owner, duration, wanted)
            clock.advance(10)
            return granted

    clock = SimulatedClock(NOON)
    keeper = LeaseKeeper(Slow(clock.now), clock, "a/1", SECONDS)
    keeper.renew()
    keeper.take_up(keeper.held())
    clock.advance(SECONDS - 10 - MARGIN_SECONDS - 0.001)
    assert keeper.may_act(JOB)
    clock.advance(0.001)
    assert not keeper.may_act(JOB)


def test_a_shard_found_lost_is_neither_written_nor_acted_for() -> None:
    bench = Bench()
    keeper = bench.take_up(bench.keeper)
    keeper.lost(SHARD)
    assert keeper.epoch(SHARD) is None
    assert not keeper.may_act(JOB)
    assert len(keeper.shards()) == SHARDS - 1


def test_a_shard_that_was_lost_and_comes_back_has_to_be_taken_up_again() -> None:
    bench = Bench()
    keeper = bench.take_up(bench.keeper)
    bench.clock.advance(SECONDS + 1)
    other = bench.take_up(bench.a_keeper("b/1"))
    assert other.may_act(JOB)
    other.release()
    keeper.renew()
    assert keeper.epoch(SHARD) == 3
    assert not keeper.may_act(JOB)
    keeper.take_up(keeper.held())
    assert keeper.may_act(JOB)


def test_a_later_run_of_a_replica_takes_over_at_once() -> None:
    bench = Bench()
    bench.keeper.renew()
    later = bench.a_keeper("a/2")
    later.succeed_predecessor()
    later.renew()
    assert later.epoch(SHARD) == 2
    bench.keeper.renew()
    assert bench.keeper.held() == {}


def test_another_replica_is_not_succeeded_but_waited_for() -> None:
    bench = Bench()
    bench.keeper.renew()
    other = bench.a_keeper("ab/1")
    other.succeed_predecessor()
    other.renew()
    assert other.held() == {}
    bench.clock.advance(SECONDS + 1)
    other.renew()
    assert other.epoch(SHARD) == 2


def test_released_leases_are_free_at_once_and_not_acted_under() -> None:
    bench = Bench()
    keeper = bench.take_up(bench.keeper)
    keeper.release()
    assert not keeper.may_act(JOB)
    other = bench.a_keeper("b/1")
    other.renew()
    assert other.epoch(SHARD) == 2


def test_a_database_that_is_away_when_leases_are_released_is_no_error() -> None:
    bench = Bench()
    keeper = bench.take_up(bench.keeper)
    bench.table.is_away = True
    keeper.release()
    assert not keeper.may_act(JOB)


def test_what_was_given_up_is_not_taken_again_by_a_duty_that_was_left_behind() -> None:
    """The others would have waited for the end of leases that nobody works under."""
    bench = Bench()
    bench.take_up(bench.keeper)
    bench.keeper.release()
    bench.keeper.renew()
    assert not bench.keeper.held()
    other = bench.a_keeper("b/1")
    other.renew()
    assert set(other.held()) == set(range(SHARDS))


def test_shards_that_cannot_be_given_up_are_a_line_in_a_minute() -> None:
    """It is tried at each turn, twice a second, as long as the ledger is away."""
    bench = Bench()
    bench.take_up(bench.keeper)
    bench.keeper._leaving = frozenset({SHARD})  # noqa: SLF001 as where there are others
    bench.table.is_away = True
    with capture_logs() as lines:
        for _ in range(240):
            assert bench.keeper.give_up({SHARD}) == frozenset()
            bench.clock.advance(0.5)
    assert [line["event"] for line in lines] == ["shards_not_given_up"] * 2
