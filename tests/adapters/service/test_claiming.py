"""Two ledgers on one cluster notice each other, and only one of them acts."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from jobledger.adapters.claim_wiring import Kept
from jobledger.adapters.service.ledgers.claiming import Claiming, Ledgers
from jobledger.core.claims.rule import Claim, Standing
from jobledger.core.errors import ClusterUnreachable, LedgerUnavailable, RequestForbidden
from jobledger.core.ports.cluster import KUBERNETES_EVENTS, LEASES, NAMESPACES
from jobledger.core.values.documents import Manifest, text
from tests.support.memory.clock import SimulatedClock
from tests.support.memory_cluster import MemoryCluster
from tests.support.records import NOON

SECONDS = 15.0


@dataclass
class Run:
    """One run of the service, as far as its claim goes."""

    claiming: Claiming
    replicas: set[str]
    database: list[str]
    """On which database it is now: the last of them."""
    away: list[Exception] = field(default_factory=list)
    """What the ledger answers, as long as there is anything."""
    asked: list[float] = field(default_factory=list)
    """When the ledger was asked how long it is, by the monotonic clock."""


class World:
    """A cluster with the namespace of the claims."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.of_other_clusters = set[str]()
        """Runs that work on the ledgers under another name of the cluster."""
        self.cluster = MemoryCluster(self.clock.now)
        metadata: Manifest = {"name": "jobledger"}
        about: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        self.cluster.create(NAMESPACES, about)

    def run(
        self, owner: str, database: str, *namespaces: str, log: tuple[str, int] = ("", 0)
    ) -> Run:
        """Return a run on a database, not looked yet."""
        replicas, databases = {owner}, [database]
        away, asked = list[Exception](), list[float]()

        def of_log() -> tuple[str, int]:
            asked.append(self.clock.monotonic())
            if away:
                raise away[0]
            return log

        claim = Claim(
            name="",
            owner=owner,
            since=self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            standing=Standing.CLAIMING,
            database="",
            namespaces=namespaces,
            kinds=("RayJob", "TrainJob"),
        )
        ledgers = Ledgers(
            database=lambda: databases[-1],
            log=of_log,
            replicas=lambda: replicas,
            runs=lambda: {*replicas, *self.of_other_clusters},
        )
        claiming = Claiming(
            self.cluster, ledgers, self.clock, claim, seconds=SECONDS, namespace="jobledger"
        )
        return Run(claiming, replicas, databases, away, asked)

    def pass_by(self, seconds: float, *runs: Run) -> None:
        """Let time pass for these runs; the others are dead."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            self.clock.advance(1)
            for run in runs:
                run.claiming.look()

    def claims(self) -> list[str]:
        return [text(item, "spec", "holderIdentity") for item in self.cluster.list(LEASES).items]


@pytest.fixture
def world() -> World:
    return World()


def test_a_run_without_rivals_acts_at_once(world: World) -> None:
    one = world.run("a/1", "first")
    assert one.claiming.waits_for() == [
        "it is not known whether another ledger controls these jobs"
    ]
    one.claiming.look()
    assert one.claiming.allows()
    assert (one.claiming.waits_for(), one.claiming.notes()) == ([], [])


def test_a_second_ledger_waits_and_both_say_so(world: World) -> None:
    one = world.run("a/1", "first", log=("aa", 12))
    one.claiming.look()
    world.clock.advance(1)
    two = world.run("b/1", "second", log=("aa", 9))
    world.pass_by(30, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (True, False)
    (waits,), (noted,) = two.claiming.waits_for(), one.claiming.notes()
    assert "another ledger controls jobs of this one: a/1 (Acting since" in waits
    assert "a copy of this ledger, 3 events longer" in waits
    assert "b/1 (Waiting since" in noted
    assert "a copy of this ledger, 3 events shorter" in noted
    assert (one.claiming.rivals, two.claiming.rivals) == (1, 1)
    reasons = {text(item, "reason") for item in world.cluster.list(KUBERNETES_EVENTS).items}
    assert reasons == {"OtherLedger"}


def test_who_waits_acts_once_the_other_has_gone(world: World) -> None:
    one, two = world.run("a/1", "first"), world.run("b/1", "second")
    one.claiming.look()
    world.pass_by(6, one, two)
    one.claiming.leave()
    world.pass_by(6, two)
    assert two.claiming.allows()
    assert two.claiming.rivals == 0


def test_one_that_was_killed_is_waited_for_as_long_as_its_claim_holds(world: World) -> None:
    one, two = world.run("a/1", "first"), world.run("b/1", "second")
    one.claiming.look()
    world.pass_by(SECONDS - 2, two)
    assert not two.claiming.allows()
    world.pass_by(8, two)
    assert two.claiming.allows()


def test_a_restart_on_the_same_ledger_does_not_wait(world: World) -> None:
    world.run("a/1", "first").claiming.look()
    again = world.run("a/2", "first")
    again.claiming.look()
    assert again.claiming.allows()


def test_replicas_of_one_ledger_act_beside_each_other(world: World) -> None:
    one, two = world.run("a/1", "first"), world.run("b/1", "first")
    for run in (one, two):
        run.replicas |= {"a/1", "b/1"}
    world.pass_by(30, one, two)
    assert one.claiming.allows()
    assert two.claiming.allows()
    assert one.claiming.notes() == two.claiming.notes() == []


def test_a_replica_that_was_paused_is_no_rival_of_its_own_ledger(world: World) -> None:
    one, two = world.run("a/1", "first"), world.run("b/1", "first")
    for run in (one, two):
        run.replicas |= {"a/1", "b/1"}
    world.pass_by(10, one, two)
    for run in (one, two):  # its heartbeat has lapsed, and its claim
        run.replicas.discard("a/1")
    world.pass_by(20, two)
    world.pass_by(10, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (False, True)
    for run in (one, two):
        run.replicas.add("a/1")
    world.pass_by(10, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (True, True)
    assert two.claiming.notes() == []


@pytest.mark.parametrize("killed", [0, 1], ids=["the older is killed", "the younger is killed"])
@pytest.mark.parametrize("seconds", range(8, 17))
def test_a_replica_that_was_killed_is_no_rival_of_its_own_ledger(
    world: World, killed: int, seconds: int
) -> None:
    """Its place on the list may lapse before its claim does."""
    runs = [world.run("a/1", "first")]
    world.clock.advance(1)
    runs.append(world.run("b/1", "first"))
    for run in runs:
        run.replicas |= {"a/1", "b/1"}
    world.pass_by(10, *runs)
    other = runs[1 - killed]
    other_goes_on = [other.claiming.allows()]
    for second in range(30):
        if second == seconds:
            other.replicas.discard("ab"[killed] + "/1")
        world.pass_by(1, other)
        other_goes_on.append(other.claiming.allows() and not other.claiming.rivals)
    assert all(other_goes_on)
    assert not world.cluster.list(KUBERNETES_EVENTS).items, "nobody is called a rival"


def test_who_goes_on_after_it_has_left_the_list_is_a_rival(world: World) -> None:
    """As the original is of whoever started a copy of its files, list of replicas included."""
    one = world.run("a/1", "first")
    world.clock.advance(1)
    two = world.run("b/1", "first")
    two.replicas.add("a/1")
    world.pass_by(10, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (True, True)
    two.replicas.discard("a/1")
    world.pass_by(2 * SECONDS / 3 + 1, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (True, False)


def test_a_promoted_copy_waits_though_its_list_of_replicas_names_who_lives(world: World) -> None:
    predecessor = world.run("a/1", "first")
    predecessor.claiming.look()
    successor = world.run("b/1", "promoted")
    successor.replicas.add("a/1")
    for _ in range(30):
        world.pass_by(1, predecessor, successor)
        assert (predecessor.claiming.allows(), successor.claiming.allows()) == (True, False)
    assert successor.claiming.waits_for() == [
        "it is not known whether another ledger controls these jobs"
    ]
    successor.replicas.discard("a/1")
    world.pass_by(6, predecessor, successor)
    assert "another ledger controls jobs of this one: a/1" in successor.claiming.waits_for()[0]
    world.pass_by(SECONDS + 6, successor)
    assert successor.claiming.allows()


@pytest.mark.parametrize("first", [0, 1], ids=["the older moves first", "the younger moves first"])
def test_replicas_that_follow_a_failover_are_no_rivals(world: World, first: int) -> None:
    runs = [world.run("a/1", "first"), world.run("b/1", "first")]
    for run in runs:
        run.replicas |= {"a/1", "b/1"}
    world.pass_by(6, *runs)
    runs[first].database.append("promoted")
    runs[first].away.clear()
    runs[1 - first].away.append(LedgerUnavailable("the primary is gone"))
    world.pass_by(4, *runs)
    runs[1 - first].away.clear()
    runs[1 - first].database.append("promoted")
    world.pass_by(2 * SECONDS / 3 + 2, *runs)
    assert [run.claiming.allows() for run in runs] == [True, True]
    assert [run.claiming.notes() for run in runs] == [[], []]
    assert not world.cluster.list(KUBERNETES_EVENTS).items, "nobody is called a rival"


def test_a_copy_of_the_files_is_noticed_and_the_younger_stops(world: World) -> None:
    one = world.run("a/1", "first")
    one.claiming.look()
    world.clock.advance(1)
    two = world.run("b/1", "first")
    world.pass_by(20, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (True, False)


def test_who_begins_under_another_name_of_the_cluster_does_not_act(world: World) -> None:
    """Not for a moment: that its ledger is the same says nothing of what it knows of the jobs."""
    one = world.run("a/1", "same")
    one.claiming.look()
    world.of_other_clusters.add("a/1")
    two = world.run("b/1", "same")
    two.claiming.look()
    assert not two.claiming.allows()
    assert "the same database under another name" in two.claiming.waits_for()[0]


def test_ledgers_for_other_namespaces_are_no_rivals(world: World) -> None:
    one, two = world.run("a/1", "first", "left"), world.run("b/1", "second", "right")
    world.pass_by(20, one, two)
    assert one.claiming.allows()
    assert two.claiming.allows()


def test_of_two_that_begin_at_once_one_acts(world: World) -> None:
    one, two = world.run("a/1", "first"), world.run("b/1", "second")
    for _ in range(40):
        world.clock.advance(0.5)
        one.claiming.look()
        assert not (one.claiming.allows() and two.claiming.allows())
        two.claiming.look()
        assert not (one.claiming.allows() and two.claiming.allows())
    assert one.claiming.allows() is not two.claiming.allows()


def test_who_cannot_renew_its_claim_stops_before_another_may_act(world: World) -> None:
    one, two = world.run("a/1", "first"), world.run("b/1", "second")
    one.claiming.look()
    world.pass_by(6, one, two)
    one.away.append(LedgerUnavailable("the primary is gone"))
    for _ in range(60):
        world.pass_by(0.5, one, two)
        assert not (one.claiming.allows() and two.claiming.allows())
    assert two.claiming.allows()
    one.away.clear()
    world.pass_by(12, one, two)
    assert (one.claiming.allows(), two.claiming.allows()) == (False, True)


def test_an_api_server_that_is_away_for_a_moment_stops_nobody(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = world.run("a/1", "first")
    one.claiming.look()

    def away(*_: object, **__: object) -> Manifest:
        raise ClusterUnreachable("away")

    with monkeypatch.context() as during:
        during.setattr(world.cluster, "apply", away)
        world.pass_by(SECONDS - 3, one)
        assert one.claiming.allows()
        world.pass_by(3, one)
        assert not one.claiming.allows()
        assert Kept(one.claiming).troubles() == ["away"]
    world.pass_by(6, one)
    assert one.claiming.allows()
    assert Kept(one.claiming).troubles() == []


def test_without_the_right_jobs_are_controlled_and_it_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Manifest:
        raise RequestForbidden("leases is forbidden")

    monkeypatch.setattr(world.cluster, "apply", refuse)
    one = world.run("a/1", "first")
    one.claiming.look()
    assert one.claiming.allows()
    assert one.claiming.notes() == [
        "another ledger on this cluster would not be noticed: leases is forbidden"
    ]


def test_claims_of_long_ago_are_removed(world: World) -> None:
    world.run("a/1", "first").claiming.look()
    two = world.run("a/2", "first")
    world.pass_by(4000, two)
    assert world.claims() == ["a/2"]


def test_what_others_write_is_shown_and_not_obeyed(world: World) -> None:
    evil = world.run("a/1\x1b[2J" + "x" * 500, "first\x1b[2J")
    evil.claiming.look()
    one = world.run("b/1", "second")
    one.claiming.look()
    (told,) = one.claiming.waits_for()
    assert "\x1b" not in told
    assert len(told) < 600


def test_a_look_that_fails_is_repeated_later_each_time_and_no_more_often_than_one_that_succeeds(
    world: World,
) -> None:
    run = world.run("a/1", "first")
    run.away.append(LedgerUnavailable("no answer"))
    for _ in range(10 * 60 * 4):
        run.claiming.look()
        world.clock.advance(0.25)
    gaps = [after - before for before, after in pairwise(run.asked)]
    assert gaps[:5] == [0.5, 1.0, 2.0, 4.0, SECONDS / 3]
    assert set(gaps[4:]) == {SECONDS / 3}
    run.away.clear()
    world.clock.advance(SECONDS / 3)
    run.claiming.look()
    assert run.claiming.allows(), "it acts as soon as the next look succeeds"
