"""Nothing is captured twice: not by the next replica, nor at each try of what is refused."""

import dataclasses
from uuid import UUID

from msgspec.structs import replace

from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.core.jobs.pending.effects import RefusedEffect
from jobledger.core.values.ids import EffectId
from tests.adapters.service.evidence_scene import Scene, scene
from tests.support.records import NOON

__all__ = ["scene"]


def test_nothing_is_captured_twice(scene: Scene) -> None:
    stream, state = scene.job.identity.stream_id, scene.state()
    effect = scene.deletion()
    scene.capturer.before(stream, scene.job, state, effect)
    scene.capturer.before(stream, scene.job, state, effect)
    assert len(scene.bench.said()) == 1
    other = Capturer(dataclasses.replace(scene.capturer._parts))  # noqa: SLF001 the next replica
    occasion = f"{effect.desired.kind}/{effect.effect_id}"
    other.before(stream, scene.job, scene.state(captured=(occasion,)), effect)
    assert scene.bench.said() == []


def test_what_is_refused_is_captured_before_its_first_try_and_once_an_hour(scene: Scene) -> None:
    """Each later try is an effect of its own, every five minutes; its Pods may go on meanwhile."""
    stream, effect = scene.job.identity.stream_id, scene.deletion()
    wanted = effect.desired
    refusal = RefusedEffect(
        kind=wanted.kind, name=wanted.name, times=1, refused_at=NOON, trouble="no", waiting=False
    )
    captured = []
    for times in range(1, 26):
        again = replace(effect, effect_id=EffectId(UUID(int=times)))
        state = scene.state(refused=(replace(refusal, times=times),))
        scene.capturer.before(stream, scene.job, state, again)
        captured += [times] * len(scene.bench.said())
    assert captured == [12, 24]
    other = replace(refusal, name="another")
    scene.capturer.before(stream, scene.job, scene.state(refused=(other,)), effect)
    assert len(scene.bench.said()) == 1
