"""What a Ray head does not answer is tried again later each time, up to a bound."""

from jobledger.adapters.service.effects.carrying_out import HEAD_PAUSE_MAX_SECONDS
from jobledger.core.jobs.pending.effects import EffectKind
from tests.adapters.service.parts import JOB_ID, Bench

ADDRESS = "train-head-svc.ml.svc.cluster.local:8265"


def test_an_entrypoint_is_handed_in_later_each_time_while_the_head_is_silent() -> None:
    bench = Bench()
    task = bench.effect_task(bench.job(), EffectKind.SUBMIT_ENTRYPOINT, JOB_ID, address=ADDRESS)
    pauses = [task() for _ in range(12)]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, *[HEAD_PAUSE_MAX_SECONDS] * 7]
    bench.ray.start_head(ADDRESS)
    assert task() is None
    assert bench.ray.info(ADDRESS, JOB_ID).status == "RUNNING"
