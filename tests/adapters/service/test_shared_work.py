"""Replicas that share the work: shards are handed over, and nothing is done twice or left out."""

from collections.abc import Sequence

from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.shard_release import IN_FLIGHT_SECONDS_MAX, ShardRelease
from jobledger.adapters.service.shards.sharing import Share
from jobledger.adapters.service.work.workers import Workers
from jobledger.core.values.ids import SHARDS, StreamId, shard_of
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, assert_whole, is_over
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.replicas import MemoryReplicas
from tests.support.records import NOON, a_stream
from tests.support.service_world import LEASE_SECONDS, Service, ServiceWorld

JOBS = 12
"""Enough for shards of both."""


class Shared:
    """A world in which everybody renews leases as time passes."""

    def __init__(self) -> None:
        self.world = ServiceWorld(is_shared=True)
        self.world.plane.holds = True
        self.alive = [self.world.service]
        self.rest()

    def join(self, name: str) -> Service:
        """Start another replica and let it have its share."""
        service = self.world.start_service(name)
        self.alive.append(service)
        self.rest()
        return service

    def rest(self, seconds: float = 6.0) -> None:
        """Let everybody do what there is to do while time passes."""
        until = self.world.clock.monotonic() + seconds
        while self.world.clock.monotonic() < until:
            for service in self.alive:
                service.controller.keep_leases()
            self.settle()
            self.world.clock.advance(0.5)

    def settle(self) -> None:
        """Let everybody do what there is to do now."""
        for _ in range(2000):
            self.world.clock.advance(0.001)
            told = self.world.cluster.deliver()
            moved = [service.step() for service in self.alive]
            if not (self.world.plane.step() or told or any(moved)):
                return
        raise AssertionError("they still find something to do")

    def create(self, **spec: object) -> list[StreamId]:
        """Create jobs of many shards."""
        made = []
        for number in range(JOBS):
            name = {"metadata.name": f"train-{number}"}
            made.append(self.world.create(a_rayjob(name, submissionMode=HTTP, **spec)))
        return made

    def shares(self) -> list[int]:
        """Return how many shards each works on."""
        return [len(service.leases.shards()) for service in self.alive]

    def fired(self, streams: Sequence[StreamId]) -> list[int]:
        """Return how many decisions of each job have fired."""
        return [
            sum("Fired" in item.record.type for item in self.world.store.read_stream(stream))
            for stream in streams
        ]


def test_who_joins_gets_its_share_once_it_knows_all_objects() -> None:
    shared = Shared()
    assert shared.shares() == [SHARDS]
    late = shared.world.start_service("b")
    late.controller.renew_leases()
    assert late.leases.held() == {}, "it has listed nothing yet, and somebody works"
    shared.alive.append(late)
    shared.rest()
    assert shared.shares() == [8, 8]
    shared.join("c")
    assert sorted(shared.shares()) == [5, 5, 6]
    assert all(service.controller.waits_for() == [] for service in shared.alive)


def test_jobs_go_on_under_who_has_their_shard_now() -> None:
    shared = Shared()
    streams = shared.create(shutdownAfterJobFinishes=True)
    shared.rest(1)
    b = shared.join("b")
    mine = [stream for stream in streams if shard_of(stream) in b.leases.shards()]
    assert 0 < len(mine) < JOBS
    assert set(b.polls.streams()) == set(mine), "only the holder asks the heads"
    assert set(shared.alive[0].polls.streams()) == set(streams) - set(mine)
    shared.world.plane.holds = False
    for _ in range(40):
        shared.rest(3)
        if all(is_over(shared.world, stream) for stream in streams):
            break
    for number, stream in enumerate(streams):
        assert shared.world.phase(f"train-{number}") == "Complete"
        last = shared.world.store.read_stream(stream)[-1].record
        assert last.actor.startswith("b/" if stream in mine else "a/")
    made = [item for item in shared.world.cluster.writes if item[:2] == ("create", "rayclusters")]
    assert len(made) == JOBS
    assert_whole(shared.world, streams[0])


def test_what_concerns_the_shards_of_others_is_kept_and_not_looked_at() -> None:
    shared = Shared()
    b = shared.join("b")
    streams = shared.create()
    shared.world.cluster.deliver()
    mine = {stream for stream in streams if shard_of(stream) in b.leases.shards()}
    assert {stream for stream, _ in b.inbox.take(1000, 0)} == mine
    assert len(b.live.jobs()) == JOBS


def test_decisions_fire_once_whoever_comes_and_goes() -> None:
    shared = Shared()
    streams = shared.create(activeDeadlineSeconds=60)
    shared.rest(1)
    b = shared.join("b")
    shared.join("c")
    shared.rest(30)
    shared.alive.remove(b)
    b.leases.release()
    shared.rest(60)
    assert shared.shares() == [8, 8]
    assert shared.fired(streams) == [1] * JOBS
    assert {shared.world.phase(f"train-{number}") for number in range(JOBS)} == {"Failed"}


def test_who_leaves_in_order_is_followed_at_once() -> None:
    shared = Shared()
    b = shared.join("b")
    shared.alive.remove(b)
    b.leases.release()
    shared.rest(LEASE_SECONDS / 5)
    assert shared.shares() == [SHARDS]


def test_who_dies_is_followed_when_its_leases_end() -> None:
    shared = Shared()
    shared.alive.remove(shared.join("b"))
    shared.rest(LEASE_SECONDS - 2)
    assert shared.shares() == [8]
    shared.rest(4)
    assert shared.shares() == [SHARDS]


def test_who_does_not_hear_the_api_server_gives_up_and_gets_its_share_again() -> None:
    shared = Shared()
    b = shared.join("b")
    b.deaf = True
    shared.rest(LEASE_SECONDS)
    assert shared.shares() == [SHARDS, 0]
    b.deaf = False
    shared.rest()
    assert shared.shares() == [8, 8]


def test_if_nobody_hears_the_api_server_nothing_moves() -> None:
    shared = Shared()
    b = shared.join("b")
    epochs = [lease.epoch for lease in shared.world.lease_table.current().values()]
    for service in shared.alive:
        service.deaf = True
    shared.rest(60)
    shared.alive[0].deaf = False
    shared.rest(1)
    b.deaf = False
    shared.rest()
    assert shared.shares() == [8, 8]
    assert [lease.epoch for lease in shared.world.lease_table.current().values()] == epochs


class Leaving:
    """A replica that is to give half of its shards up."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.table = MemoryLeases(self.clock.now)
        self.list = MemoryReplicas(self.table, self.clock.now)
        self.keeper = self.a_keeper("a/1")
        self.workers = Workers(self.clock, 1)
        self.woken: list[None] = []
        self.let_go: list[frozenset[int]] = []
        self.giving_up = ShardRelease(
            self.keeper,
            self.workers,
            self.clock,
            lambda: None,
            self.let_go.append,
            lambda: self.woken.append(None),
        )
        self.keeper.renew()
        self.keeper.take_up(self.keeper.held())
        self.other = self.a_keeper("b/1")
        self.other.renew()
        self.keeper.renew()

    def a_keeper(self, owner: str) -> LeaseKeeper:
        share = Share(self.list, self.clock, owner, LEASE_SECONDS)
        return LeaseKeeper(self.table, self.clock, owner, LEASE_SECONDS, share)


def of_shard(shard: int) -> StreamId:
    """Return a job of a shard."""
    return next(
        stream for number in range(999) if shard_of(stream := a_stream(f"{number}")) == shard
    )


def test_for_a_shard_that_leaves_nothing_is_done_any_more() -> None:
    bench = Leaving()
    assert bench.keeper.leaving() == set(range(8, 16))
    assert not bench.keeper.may_act(of_shard(9))
    assert bench.keeper.may_act(of_shard(7))
    assert bench.keeper.shards() == set(range(8))
    assert bench.keeper.epoch(9) is not None, "outcomes can still be written down"


def test_a_shard_leaves_when_what_is_in_flight_has_ended() -> None:
    bench = Leaving()
    stream = of_shard(9)
    flights: list[int] = []

    def task() -> None:
        bench.giving_up.go_on()
        flights.append(len(bench.keeper.held()))

    bench.workers.submit(stream, task)
    bench.workers.open_gate()
    bench.workers.run_once()
    assert flights == [SHARDS], "while it runs the shard stays"
    bench.giving_up.go_on()
    assert set(bench.keeper.held()) == set(range(8))
    assert bench.let_go == [frozenset(range(8, 16))]
    bench.other.renew()
    assert set(bench.other.held()) == set(range(8, 16))


def test_what_takes_too_long_is_not_waited_for() -> None:
    bench = Leaving()

    def task() -> None:
        bench.giving_up.go_on()
        bench.clock.advance(IN_FLIGHT_SECONDS_MAX)
        bench.giving_up.go_on()

    bench.workers.submit(of_shard(9), task)
    bench.workers.open_gate()
    bench.workers.run_once()
    assert set(bench.keeper.held()) == set(range(8))


def test_a_shard_that_is_to_stay_after_all_is_worked_on_again() -> None:
    bench = Leaving()
    bench.workers.submit(of_shard(9), bench.giving_up.go_on)
    bench.workers.open_gate()
    bench.workers.run_once()
    bench.other.release()
    bench.keeper.renew()
    bench.giving_up.go_on()
    assert bench.keeper.leaving() == frozenset()
    assert bench.keeper.may_act(of_shard(9))
    assert bench.woken == [None], "decisions may have fallen due meanwhile"


def test_a_shard_that_is_to_stay_is_not_let_go_of_although_it_was_about_to_leave() -> None:
    bench = Leaving()

    def hear_out() -> None:
        bench.other.release()
        bench.keeper.renew()

    bench.giving_up.hear_out = hear_out
    bench.giving_up.go_on()
    assert (bench.let_go, set(bench.keeper.held())) == ([], set(range(SHARDS)))
    bench.giving_up.go_on()
    assert bench.woken == [None], "decisions may have fallen due meanwhile"
