"""Whatever happened: what was decided is decided again, from nothing but what is recorded."""

from hypothesis import given

from jobledger.core.forensics.replay.replay import replay
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.turns import record_turn
from tests.properties.effort import effort
from tests.properties.test_stories import choices, live, specs
from tests.properties.world import World
from tests.support.records import NOON
from tests.support.rows import STREAM


def logged(world: World) -> list[EventRecord]:
    """Return what a world brought, as it comes back from the log."""
    tail = Tail(stream_id=STREAM, version=0, chain=GENESIS)
    writer = Writer(actor="jobledger-0", epoch=1, now=NOON)
    records: list[EventRecord] = []
    for observation, decided in world.heard:
        made, tail = record_turn(tail, writer, observation, decided)
        records += made
    return list(records)


@effort
@given(specs, choices)
def test_every_history_is_decided_again_as_it_was(
    spec: dict[str, object], chosen: list[int]
) -> None:
    world = World(dict(spec))
    live(world, chosen)
    replayed = replay(logged(world))
    assert replayed.unknown == ()
    assert replayed.divergences == ()
