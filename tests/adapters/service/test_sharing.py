"""When a replica looks at the others, and whether it hears the API server."""

from typing import Any

from structlog.testing import capture_logs

from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.sharing import LOOKS_PER_LEASE, QUICK_LOOKS_PER_LEASE, Share
from jobledger.adapters.service.shards.touch import Touch
from jobledger.core.errors import ClusterUnreachable, RequestForbidden
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.ids import SHARDS
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.replicas import MemoryReplicas
from tests.support.memory_cluster import MemoryCluster
from tests.support.records import NOON

SECONDS = 15.0


class Two:
    """A replica that works on everything, and perhaps another."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = MemoryLeases(self.clock.now)
        self.list = MemoryReplicas(self.table, self.clock.now)
        self.share, self.keeper = self.replica("a/1")
        self.keeper.renew()

    def replica(self, owner: str) -> tuple[Share, LeaseKeeper]:
        share = Share(self.list, self.clock, owner, SECONDS)
        return share, LeaseKeeper(self.table, self.clock, owner, SECONDS, share)


def test_while_nothing_changes_it_looks_five_times_per_lease() -> None:
    two = Two()
    assert not two.share.is_due(SHARDS)
    two.clock.advance(SECONDS / LOOKS_PER_LEASE - 0.01)
    assert not two.share.is_due(SHARDS)
    two.clock.advance(0.01)
    assert two.share.is_due(SHARDS)


def test_who_waits_for_shards_of_others_looks_more_often() -> None:
    two = Two()
    share, keeper = two.replica("b/1")
    keeper.renew()
    assert (share.aim, len(keeper.held())) == (8, 0)
    assert not share.is_due(0)
    two.clock.advance(SECONDS / QUICK_LOOKS_PER_LEASE)
    assert share.is_due(0)
    assert not share.is_due(8), "it has its share"


def test_it_looks_at_the_moment_at_which_another_counts_as_gone() -> None:
    two = Two()
    two.replica("b/1")[1].renew()
    two.clock.advance(SECONDS - 0.5)
    two.keeper.renew()
    assert not two.share.is_due(SHARDS)
    two.clock.advance(0.5)
    assert two.share.is_due(SHARDS)


def test_it_tells_at_once_when_it_begins_or_ceases_to_hear() -> None:
    two = Two()
    two.share.hears = lambda: False
    assert two.share.is_due(SHARDS)
    two.keeper.renew()
    assert not two.share.is_due(SHARDS), "it is alone: nobody could do better"


def test_it_is_alone_until_another_is_there() -> None:
    two = Two()
    assert (two.share.is_alone, two.share.replicas) == (True, 1)
    two.replica("b/1")[1].renew()
    two.keeper.renew()
    assert (two.share.is_alone, two.share.replicas) == (False, 2)
    assert two.keeper.leaving() == set(range(8, SHARDS))


def test_who_stops_is_off_the_list() -> None:
    two = Two()
    two.keeper.release()
    assert two.list.current() == []


def test_a_later_run_takes_the_earlier_off_the_list() -> None:
    two = Two()
    _, later = two.replica("a/2")
    later.succeed_predecessor()
    later.renew()
    assert [one.owner for one in two.list.current()] == ["a/2"]
    assert len(later.held()) == SHARDS


class Answering(MemoryCluster):
    """An API server that answers as a test wants."""

    error: Exception | None = None
    asked = 0

    def get(self, *args: Any) -> Any:  # noqa: ANN401 as the port
        self.asked += 1
        if self.error is not None:
            raise self.error
        return super().get(*args)


def test_any_answer_of_the_api_server_counts_and_silence_does_not() -> None:
    clock = SimulatedClock(NOON)
    cluster = Answering()
    touch = Touch(cluster, clock, RAYJOBS, ("ml",))
    assert not touch.answered_within(9)
    for error in (None, RequestForbidden("no")):
        cluster.error = error
        touch.ask()
        assert touch.answered_within(0)
        clock.advance(10)
    cluster.error = ClusterUnreachable("no answer")
    with capture_logs() as lines:
        for _ in range(20):
            touch.ask()
    assert [line["event"] for line in lines] == ["api_server_unheard"]
    assert not touch.answered_within(9)
    assert touch.answered_within(10)


def test_nobody_asks_where_nobody_wants_to_know() -> None:
    clock = SimulatedClock(NOON)
    cluster = Answering()
    touch = Touch(cluster, clock, RAYJOBS, ())
    touch.is_needed = lambda: False
    touch.ask()
    assert cluster.asked == 0
