"""What is back of a job that is over is asked for, and not again and again."""

from types import SimpleNamespace
from typing import Any

import pytest

from jobledger.adapters.service.resync.back_again import SOUGHT_AGAIN_SECONDS, BackAgain
from tests.adapters.service.parts import Bench
from tests.adapters.service.test_restored_clusters import a_child, shown


@pytest.mark.parametrize(("gone", "asked"), [(("u-1",), [1, 1, 2]), (("u-2",), [0, 0, 0])])
def test_it_is_asked_for_once_in_a_while(gone: tuple[str, ...], asked: list[int]) -> None:
    """Where nothing follows from the answer, the job is let go again at once."""
    bench, sought = Bench(), list[object]()
    job = bench.job()
    child = shown(a_child("RayCluster"), 900)
    child["metadata"]["ownerReferences"][0]["uid"] = job.identity.uid
    bench.clusters.seen(child, bench.clock.now())
    state = SimpleNamespace(identity=job.identity, deleted_at=None, gone=gone)
    slot: Any = SimpleNamespace(view=SimpleNamespace(state=state), stream_id=job.identity.stream_id)
    back = BackAgain(bench.live, bench.clock, sought.append)
    counts = []
    for pause in (0.0, SOUGHT_AGAIN_SECONDS / 2, SOUGHT_AGAIN_SECONDS):
        bench.clock.advance(pause)
        back.look(slot)
        counts.append(len(sought))
    assert counts == asked
