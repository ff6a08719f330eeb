"""Nothing is kept for ever of jobs that are gone: a thousand leave what a few do."""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from jobledger.adapters.service.loop import slowing as slowing_module
from jobledger.adapters.service.loop.slowing import Slowing
from jobledger.adapters.service.objects.uids_by import KEYS_MAX
from jobledger.adapters.service.work.snapshots import SnapshotKeeper
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.recording import Tail
from jobledger.core.ports.projections import Snapshot
from jobledger.core.projections.snapshot import Folded, snapshot_of
from jobledger.core.projections.view import View
from jobledger.core.rayjob.observations.observations import ManifestGone
from jobledger.core.values.documents import child
from jobledger.core.values.ids import StreamId, observation_id
from tests.adapters.service.parts import Bench
from tests.rules.rayjob.jobs import selecting
from tests.support.memory.clock import SimulatedClock
from tests.support.records import NOON, a_stream

MANY = 1000
KEY = b"a key of the tests"


def size_of(kept: Iterable[object]) -> int:
    """Return how many things are kept, in dictionaries, sets and lists within each other."""
    found = 0
    for one in kept:
        found += 1
        if isinstance(one, dict):
            found += size_of(one.keys()) + size_of(one.values())
        elif isinstance(one, set | list | tuple):
            found += size_of(one)
    return found


def seen(bench: Bench, number: int, selects: str, generation: int = 1) -> dict[str, Any]:
    """Have the watch see a job that selects a RayCluster; return it."""
    manifest = selecting({"spec|clusterSelector|ray.io/cluster": selects})
    metadata = dict(child(manifest, "metadata"))
    metadata |= {"uid": f"uid-{number}", "name": f"train-{number}", "generation": generation}
    manifest["metadata"] = {**metadata, "resourceVersion": str(100 * number + generation)}
    bench.jobs.seen(manifest, bench.clock.now())
    return manifest


def test_of_jobs_whose_selected_raycluster_was_edited() -> None:
    """Each edit left a name behind, and each author may edit all day."""
    bench = Bench()
    for number in range(MANY):
        seen(bench, number, f"shared-{number}-1")
        manifest = seen(bench, number, f"shared-{number}-2", 2)
        bench.jobs.gone(manifest, bench.clock.now())
        bench.said()
    selecting_jobs: Any = bench.live._selecting  # noqa: SLF001 what is kept
    assert size_of(vars(selecting_jobs).values()) == len(vars(selecting_jobs))


def test_of_a_job_that_is_edited_all_day() -> None:
    bench = Bench()
    for generation in range(1, MANY):
        seen(bench, 1, f"shared-{generation}", generation)
        bench.said()
    selecting_jobs: Any = bench.live._selecting  # noqa: SLF001 what is kept
    assert size_of(vars(selecting_jobs).values()) < 10 * KEYS_MAX


class KeptSnapshots:
    """A snapshot of each job that is asked for."""

    def read(self, streams: Collection[StreamId], folded_by: bytes) -> Sequence[Snapshot]:
        folded = Folded(view=View(version=1), at=NOON, decided="as it was decided on")
        ends = (Tail(stream_id=stream, version=1, chain=GENESIS) for stream in streams)
        return [snapshot_of(end, folded, folded_by, KEY) for end in ends]

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """Keep nothing."""

    def sweep(self) -> int:
        return 0


def test_of_jobs_whose_snapshots_were_read_when_their_shard_was_gained() -> None:
    """Each replica that takes a shard over reads them all, and looks at none of the jobs first."""
    keeper = SnapshotKeeper(KeptSnapshots(), KEY, SimulatedClock(NOON))
    assert len(keeper.read([a_stream(str(number)) for number in range(MANY)])) == MANY
    keeper.keep([])
    assert (keeper._made, keeper._decided) == ({}, {})  # noqa: SLF001 what is kept


def test_of_jobs_that_were_slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slowing_module, "FORGET_ABOVE", 10)
    clock = SimulatedClock(NOON)
    slowing = Slowing(clock, Metrics(CollectorRegistry()), 10)
    with capture_logs() as lines:
        for number in range(MANY):
            stream = a_stream(str(number))
            gone = ManifestGone(id=observation_id(stream, "gone"), at=NOON)
            slowing.spent(stream, 100)
            assert slowing.admit([(stream, gone)]) == []
            clock.advance(timedelta(days=1).total_seconds())
            assert slowing.admit([]) == [(stream, gone)]
    assert len(lines) == MANY
    kept = {name: one for name, one in vars(slowing).items() if isinstance(one, dict | set)}
    assert size_of(kept.values()) < MANY / 10
