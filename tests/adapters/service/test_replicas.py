"""Two replicas on one ledger and one cluster: shards lost and gained."""

from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.values.documents import child
from jobledger.core.values.ids import SHARDS, StreamId, shard_of
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, assert_whole, is_over
from tests.support.service_world import LEASE_SECONDS, Service, ServiceWorld, SteppedAlarms


class TwoReplicas:
    """`a` holds every shard at first; `b` waits."""

    def __init__(self) -> None:
        self.world = ServiceWorld()
        self.world.plane.holds = True
        self.a = self.world.service
        self.settle(self.a)
        self.b = self.world.start_service("b")
        self.settle(self.a, self.b)

    def settle(self, *alive: Service) -> None:
        """Let these replicas, and the cluster, do what there is to do."""
        for _ in range(400):
            self.world.clock.advance(0.001)
            told = self.world.cluster.deliver()
            moved = [service.step() for service in alive]
            if not (self.world.plane.step() or told or any(moved)):
                return
        raise AssertionError("after 400 steps they still find something to do")

    def create(self, **spec: object) -> StreamId:
        return self.world.create(a_rayjob(submissionMode=HTTP, **spec))

    def pass_by(self, seconds: float, *renewing: Service) -> None:
        """Let time pass while these replicas renew their leases."""
        while seconds > 0:
            self.world.clock.advance(min(seconds, 5.0))
            seconds -= 5.0
            for service in renewing:
                service.controller.renew_leases()

    def hand_over(self) -> None:
        """Let `a` be paused until `b` holds everything."""
        self.pass_by(LEASE_SECONDS + 1, self.b)
        self.settle(self.b)
        assert len(self.b.leases.held()) == SHARDS

    def give_back(self) -> None:
        """Let `b` stop, and `a` take everything back."""
        self.b.leases.release()
        self.a.controller.renew_leases()


def test_a_replica_that_holds_nothing_does_nothing() -> None:
    two = TwoReplicas()
    assert two.b.controller.waits_for() == ["no lease: another replica holds every shard"]
    two.create()
    two.settle(two.b)
    assert two.world.cluster.writes == [("create", "rayjobs", "train")]
    two.settle(two.a, two.b)
    assert two.world.phase("train") == "Running"


def test_it_hears_of_what_came_before_it_held_the_shard() -> None:
    """Its watch told it long ago, and nobody will tell it again."""
    two = TwoReplicas()
    stream = two.create()
    two.settle(two.b)
    two.hand_over()
    assert two.world.phase("train") == "Running"
    assert two.world.store.read_stream(stream)[0].record.epoch == 2


def test_it_takes_over_in_the_middle_of_everything() -> None:
    two = TwoReplicas()
    stream = two.create(shutdownAfterJobFinishes=True, activeDeadlineSeconds=30)
    two.settle(two.a, two.b)
    two.hand_over()
    two.world.plane.holds = False
    two.world.service = two.b
    two.world.run(lambda: is_over(two.world, stream), "the job to be over")
    assert two.world.phase("train") == "Complete"
    assert_whole(two.world, stream)


def test_what_went_while_nobody_held_the_shard_is_noticed() -> None:
    two = TwoReplicas()
    stream = two.create()
    two.settle(two.a, two.b)
    name = str(child(two.world.job("train"), "status")["rayClusterName"])
    two.world.cluster.delete(RAYCLUSTERS, "ml", name)
    two.settle(two.b)
    two.hand_over()
    assert "ClusterVanished" in [r.record.type for r in two.world.store.read_stream(stream)]


def test_a_zombie_neither_writes_to_the_log_nor_acts() -> None:
    two = TwoReplicas()
    stream = two.create()
    two.settle(two.a, two.b)
    two.hand_over()
    two.world.cluster.delete(RAYJOBS, "ml", "train")
    before = len(two.world.cluster.writes), len(two.world.store.read_stream(stream))
    two.world.cluster.deliver()
    for _ in range(20):
        two.a.step()
    assert before == (len(two.world.cluster.writes), len(two.world.store.read_stream(stream)))
    assert shard_of(stream) not in two.a.leases.held()


def test_a_shard_that_comes_back_is_read_anew() -> None:
    """What was known of its jobs is old: another has worked on them."""
    two = TwoReplicas()
    stream = two.create(shutdownAfterJobFinishes=True)
    two.settle(two.a, two.b)
    stale = two.a.slots.held(stream)
    assert stale is not None
    two.hand_over()
    manifest = two.world.job("train")
    suspended = {**child(manifest, "spec"), "suspend": True}
    two.world.cluster.edit(RAYJOBS, "ml", "train", spec=suspended)
    two.settle(two.b)
    assert two.world.phase("train") == "Suspended"
    two.give_back()
    two.a.inbox.take(1000, 0)  # not even what it has heard tells it
    two.a.controller.run_once(wait_seconds=0)
    fresh = two.a.slots.held(stream)
    assert fresh is not None
    assert fresh is not stale
    assert fresh.view.state.phase == "Suspended"
    two.settle(two.a)
    two.world.cluster.edit(RAYJOBS, "ml", "train", spec=child(manifest, "spec"))
    two.world.plane.holds = False
    two.world.run(lambda: is_over(two.world, stream), "the job to be over")
    assert_whole(two.world, stream)


def test_between_coming_back_and_being_read_anew_nothing_is_acted_on() -> None:
    """The lease is there, the slots are old: errands from before must not run on them."""
    two = TwoReplicas()
    stream = two.create()
    two.world.cluster.deliver()
    two.a.controller.run_once(wait_seconds=0)
    assert len(two.a.workers) > 0, "asked for, and not carried out yet"
    two.hand_over()
    two.give_back()
    assert shard_of(stream) in two.a.leases.held()
    writes = len(two.world.cluster.writes)
    while two.a.workers.run_once():
        pass
    assert len(two.world.cluster.writes) == writes
    two.settle(two.a)
    made = [item for item in two.world.cluster.writes if item[:2] == ("create", "rayclusters")]
    assert len(made) == 1


def test_of_lost_shards_nothing_is_asked_written_or_kept() -> None:
    two = TwoReplicas()
    stream = two.create()
    two.settle(two.a, two.b)
    assert two.a.polls.streams() == [stream]
    two.hand_over()
    two.a.controller.renew_leases()
    two.settle(two.a)
    assert two.a.polls.streams() == two.a.handover.publisher.streams() == []
    assert (two.a.handover.under_way, len(two.a.slots)) == ({}, 0)
    assert two.a.controller.waits_for() == ["no lease: another replica holds every shard"]


def test_decisions_of_shards_that_are_held_but_not_taken_up_are_not_told() -> None:
    two = TwoReplicas()
    stream = two.create(activeDeadlineSeconds=5)
    two.settle(two.a, two.b)
    two.pass_by(LEASE_SECONDS + 1, two.b)
    assert shard_of(stream) in two.b.leases.held()
    assert isinstance(two.b.alarms, SteppedAlarms)
    assert not two.b.alarms.run_once()
    two.settle(two.b)
    fired = [r for r in two.world.store.read_stream(stream) if "Fired" in r.record.type]
    assert len(fired) == 1


def test_what_a_turn_read_before_its_shard_was_loaded_is_read_anew() -> None:
    """The shard was gained after the leases were followed, and lost again before they were."""
    two = TwoReplicas()
    stream = two.create(shutdownAfterJobFinishes=True)
    two.settle(two.a)
    two.pass_by(LEASE_SECONDS + 1, two.b)
    two.world.cluster.merge_patch(RAYJOBS, "ml", "train", {"metadata": {"labels": {"a": "b"}}})
    two.world.cluster.deliver()
    two.b.turn.run_once(wait_seconds=0)
    assert two.b.slots.held(stream) is not None, "its turn has read it"
    two.pass_by(LEASE_SECONDS + 1, two.a)
    two.world.cluster.merge_patch(RAYJOBS, "ml", "train", {"spec": {"suspend": True}})
    two.settle(two.a)
    assert two.world.phase("train") == "Suspended"
    two.pass_by(LEASE_SECONDS + 1, two.b)
    two.b.inbox.take(1000, 0)  # not even what it has heard tells it
    two.b.turn.unheard.clear()
    two.b.controller.run_once(wait_seconds=0)
    fresh = two.b.slots.held(stream)
    assert fresh is not None
    assert fresh.view.state.phase == "Suspended"
