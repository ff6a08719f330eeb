"""Several clusters on one ledger: each has shards, decisions and replicas of its own."""

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine

from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.leases import PostgresLeases
from jobledger.adapters.postgres.log.pending import PostgresPendingDecisions
from jobledger.adapters.postgres.log.replicas import PostgresReplicas
from jobledger.core.ports.event_store import AppendOutcome, StreamAppend
from jobledger.core.values.ids import SHARDS, shard_of
from tests.support.ledgers import TERM, TestClock
from tests.support.records import NOON, StreamWriter, a_decision_row, a_stream

pytestmark = pytest.mark.postgres

EVERY = frozenset(range(SHARDS))


def of_a_cluster(cluster: str, epoch: int, actor: str) -> StreamAppend:
    """Return the first append of a job with a pending decision."""
    stream = a_stream(cluster)
    part = StreamWriter(stream, epoch=epoch, actor=actor).next(decisions=[a_decision_row(stream)])
    assert part.rows.job is not None
    return replace(part, rows=replace(part.rows, job=replace(part.rows.job, cluster=cluster)))


def test_each_cluster_has_all_shards_under_epochs_of_its_own(engine: Engine) -> None:
    east, west = PostgresLeases(engine, "east"), PostgresLeases(engine, "west")
    ours = east.acquire("a/1", TERM, SHARDS)
    theirs = west.acquire("b/1", TERM, SHARDS)
    assert set(ours) == set(theirs) == EVERY
    assert east.current() == ours
    assert west.current() == theirs
    assert not {one.epoch for one in ours.values()} & {one.epoch for one in theirs.values()}
    west.release("b/1", {3, 4})
    assert east.current() == ours
    assert [shard for shard, one in west.current().items() if not one.owner] == [3, 4]
    again = PostgresLeases(engine, "west").acquire("c/1", TERM, SHARDS)
    assert {shard: again[shard].epoch - theirs[shard].epoch for shard in again} == {3: 1, 4: 1}
    assert PostgresLeases(engine).current() == ours, "who names none is on the first"


def test_a_lease_of_one_cluster_is_good_for_its_own_appends_only(engine: Engine) -> None:
    store = PostgresEventStore(engine, TestClock())
    east, west = PostgresLeases(engine, "east"), PostgresLeases(engine, "west")
    shard = shard_of(a_stream("west"))
    east.acquire("a/1", TERM, SHARDS)
    epoch = west.acquire("b/1", TERM, SHARDS)[shard].epoch
    west.release("b/1")
    (late,) = store.append([of_a_cluster("west", epoch, "b/1")])
    assert late.outcome is AppendOutcome.FENCED, "its own lease is gone, whatever others hold"
    now = west.acquire("c/1", TERM, SHARDS)[shard].epoch
    (done,) = store.append([of_a_cluster("west", now, "c/1")])
    assert done.outcome is AppendOutcome.APPENDED


def test_what_is_open_and_due_is_that_of_the_own_cluster(engine: Engine) -> None:
    store = PostgresEventStore(engine, TestClock())
    for cluster in ("east", "west"):
        held = PostgresLeases(engine, cluster).acquire(f"{cluster}/1", TERM, SHARDS)
        epoch = held[shard_of(a_stream(cluster))].epoch
        (done,) = store.append([of_a_cluster(cluster, epoch, f"{cluster}/1")])
        assert done.outcome is AppendOutcome.APPENDED
    for cluster in ("east", "west"):
        stream = a_stream(cluster)
        assert PostgresHistory(engine, cluster).open_streams(EVERY) == [stream]
        pending = PostgresPendingDecisions(engine, cluster)
        assert [row.stream_id for row in pending.pending(EVERY, 9)] == [stream]
        look = pending.look(NOON, EVERY, 9, ())
        assert (look.next_due_at is not None) != bool(look.due)
        assert {row.stream_id for row in look.due} <= {stream}
    assert len(PostgresHistory(engine).open_streams(EVERY)) == 2
    assert len(PostgresPendingDecisions(engine).pending(EVERY, 9)) == 2


def test_only_replicas_of_the_own_cluster_share(engine: Engine) -> None:
    east, west = PostgresReplicas(engine, "east"), PostgresReplicas(engine, "west")
    east.beat("a/1", TERM, hears=True)
    assert [one.owner for one in west.beat("b/1", TERM, hears=True)] == ["b/1"]
    assert [one.owner for one in east.current()] == ["a/1"]
    PostgresLeases(engine, "west").acquire("b/1", TERM, 2)
    PostgresLeases(engine, "east").acquire("c/1", TERM, 1)
    told = [(one.cluster, one.owner, one.shards, one.is_there) for one in east.holders()]
    assert told == [
        ("east", "a/1", (), True),
        ("east", "c/1", (0,), False),
        ("west", "b/1", (0, 1), True),
    ]
