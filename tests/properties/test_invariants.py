"""The nine invariants of `docs/explanation/invariants.md`, each with properties of its number.

Those of TrainJobs are in `test_train_wild`. `test_stories`, `test_wild` and `test_redaction` hold
more generated histories against some of them; the simulation holds the whole service against all.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.core.catalogue import NAMES, SCHEMA_VERSION, JobEvent, read_event
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.log.redaction.redact import Redactor, secrets_in
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.phases import FINAL, JobStatus
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.ids import SHARDS, observation_id, shard_of
from tests.properties.effort import lighter
from tests.properties.invariants import (
    check_effects_and_decisions,
    check_one_cluster,
    check_retries,
    check_step,
)
from tests.properties.moves import WAITING, calm
from tests.properties.test_redaction import FRAGMENTS, PLANTS
from tests.properties.test_stories import choices, endings, live, specs
from tests.properties.world import SELECTED, World
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.leases import MemoryLeases
from tests.support.records import NOON, a_stream, with_data
from tests.support.rows import check_laws, through_the_log

STREAM = a_stream()
LEASE_SECONDS = 15.0


def lived(spec: dict[str, object], chosen: list[int]) -> World:
    """Return a world in which all this has happened."""
    world = World(dict(spec))
    live(world, chosen)
    return world


@lighter
@given(specs, choices)
def test_invariant_1_the_status_is_the_fold_of_the_log(
    spec: dict[str, object], chosen: list[int]
) -> None:
    """At every moment, and also of what comes back from the log."""
    world = World(dict(spec))
    for choice in chosen:
        live(world, [choice])
        assert status(RAYJOB.fold(world.history)) == status(world.state)
    assert status(RAYJOB.fold(through_the_log(world.history))) == status(world.state)
    check_laws(RAYJOB, world.history, len(world.history) // 2)


@lighter
@given(specs, choices)
def test_invariant_2_retries_are_bounded_and_never_after_the_excluded_reasons(
    spec: dict[str, object], chosen: list[int]
) -> None:
    check_retries(lived(spec, chosen).history)


@lighter
@given(specs, choices, endings)
def test_invariant_3_an_attempt_begins_when_nothing_of_the_last_is_left(
    spec: dict[str, object], chosen: list[int], ending: JobStatus
) -> None:
    world = World({"backoff_limit": 2, **spec}, ending)
    live(world, chosen)
    calm(world)
    check_one_cluster(world.history)


@lighter
@given(specs, choices, endings, choices)
def test_invariant_4_what_has_ended_has_ended(
    spec: dict[str, object], chosen: list[int], ending: JobStatus, later: list[int]
) -> None:
    """Whatever happens before the end, and whatever after it."""
    world = World(dict(spec), ending)
    live(world, chosen)
    calm(world)
    live(world, later)
    state = RAYJOB.initial
    for event in world.history:
        after = RAYJOB.evolve(state, event)
        if state.phase in FINAL:
            check_step(state, event, after)
        state = after


@lighter
@given(specs, choices)
def test_invariant_5_every_effect_and_every_decision_ends_once(
    spec: dict[str, object], chosen: list[int]
) -> None:
    check_effects_and_decisions(lived(spec, chosen).history)


@lighter
@given(choices, endings)
def test_invariant_6_a_selected_cluster_is_never_deleted(
    chosen: list[int], ending: JobStatus
) -> None:
    spec: dict[str, object] = {"cluster_selector": SELECTED, "backoff_limit": 2}
    world = World({**spec, "shutdown_after_job_finishes": True}, ending)
    live(world, chosen)
    calm(world)
    assert not world.clusters[SELECTED].deleting
    state = RAYJOB.initial
    for event in world.history:
        after = RAYJOB.evolve(state, event)
        check_step(state, event, after)
        state = after


def recorded(history: Sequence[JobEvent]) -> Sequence[EventRecord]:
    """Return a history as it stands in the log."""
    named = [
        NamedEvent(name=NAMES[type(event)], schema_version=SCHEMA_VERSION, at=event.at, event=event)
        for event in history
    ]
    tail = Tail(stream_id=STREAM, version=0, chain=GENESIS)
    writer = Writer(actor="jobledger-0", epoch=1, now=NOON)
    records, _ = record(tail, writer, observation_id(STREAM, "all of it"), named)
    return records


def tampered(records: Sequence[EventRecord], deed: str, at: int) -> list[EventRecord]:
    """Return a stream of which an event was lost, doubled, moved or changed."""
    changed, number = list(records), at % (len(records) - 1)
    if deed == "lost":
        del changed[number]
    elif deed == "doubled":
        changed.insert(number, changed[number])
    elif deed == "moved":
        changed[number], changed[number + 1] = changed[number + 1], changed[number]
    else:
        changed[number] = with_data(changed[number], {**changed[number].data, "new": 1})
    return changed


@lighter
@given(
    specs, choices, st.sampled_from(["lost", "doubled", "moved", "changed"]), st.integers(0, 999)
)
def test_invariant_7_no_event_is_lost_doubled_moved_or_changed_unnoticed(
    spec: dict[str, object], chosen: list[int], deed: str, at: int
) -> None:
    records = recorded(lived(spec, chosen).history)
    assert first_fault(GENESIS, records) is None
    read = [read_event(item) for item in records]
    assert [NAMES[type(event)] for event in read] == [item.type for item in records]
    if len(records) > 1:
        assert first_fault(GENESIS, tampered(records, deed, at)) is not None


@lighter
@given(specs, choices, endings)
def test_invariant_8_once_the_faults_stop_every_job_ends_or_waits_and_nothing_is_leaked(
    spec: dict[str, object], chosen: list[int], ending: JobStatus
) -> None:
    world = World(dict(spec), ending)
    live(world, chosen)
    calm(world)
    state = world.state
    assert (state.effects, state.decisions) == ((), ())
    if not world.exists:
        assert not world.clusters
        return
    assert state.phase in WAITING
    assert state.phase not in FINAL or not is_open(state)
    own = [child for child in world.clusters.values() if child.owned]
    keeps = state.phase not in FINAL or not world.spec.get("shutdown_after_job_finishes")
    assert len(own) <= keeps, f"{own} is leaked"


@lighter
@given(
    st.from_regex(r"[G-Z][0-9][g-z]{2}[0-9][G-Z]{3}[0-9]{3}", fullmatch=True),
    st.integers(0, len(PLANTS) - 1),
    st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join),
)
def test_invariant_9_no_secret_enters_the_log(secret: str, plant: int, around: str) -> None:
    """Neither where it stands in a manifest, nor where it is said again."""
    manifest = PLANTS[plant](secret)
    redactor = Redactor(b"a key of the installation, 32 by", secrets_in(manifest, {}))
    assert secret not in str(redactor.document(manifest))
    assert secret not in redactor.text(f"{around} {secret} {around}", 10_000)


moves = st.lists(
    st.tuples(
        st.sampled_from(["a renews", "b renews", "a takes up", "b takes up", "a gives up"]),
        st.sampled_from([0.0, 1.0, 4.0, 9.0, 14.5, 16.0]),
    ),
    max_size=40,
)


@lighter
@given(moves)
def test_invariant_9_nothing_is_written_without_a_valid_lease(
    moved: list[tuple[str, float]],
) -> None:
    """Who acts by its own clock holds the lease by the clock of the database, and nobody else."""
    clock = SimulatedClock(NOON)
    table = MemoryLeases(clock.now)
    keepers = {name: LeaseKeeper(table, clock, f"{name}/1", LEASE_SECONDS) for name in "ab"}
    for move, seconds in moved:
        keeper = keepers[move[0]]
        if move.endswith("renews"):
            keeper.renew()
        elif move.endswith("takes up"):
            keeper.take_up(keeper.held())
        else:
            keeper.release()
        clock.advance(seconds)
        lease = table.current().get(shard_of(STREAM))
        acting = [name for name, one in keepers.items() if one.may_act(STREAM)]
        for name in acting:
            assert lease is not None
            assert lease.owner == f"{name}/1"
            assert clock.now() <= lease.until
        assert len(acting) <= 1
    assert all(len(one.held()) <= SHARDS for one in keepers.values())
