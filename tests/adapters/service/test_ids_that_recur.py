"""No id of an observation repeats with other events: what was seen before may be seen once more.

An etcd that was restored shows objects under versions that were seen before, a label goes away and
comes back, a runtime is edited there and back.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from jobledger.core.kinds import RECURRING, JobObservation, decide
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.trainjob.observations import RuntimeSeen, TrainJobSeen
from jobledger.core.values.ids import StreamId, observation_id
from tests.adapters.service.parts import a_rayjob
from tests.support.rayjob_builders import after
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

ROOT = Path(__file__).parents[3]

ONCE = {
    "PollAnswered": "names the instant of the answer",
    "PollNotFound": "names the instant of the answer",
    "PollUnanswered": "names the instant at which there was none",
    "PodsSeen": "names the look and its instant",
    "EffectEnded": "names the effect and the instant; an effect that is over takes no outcome",
    "WatchInterrupted": "names the instant until which changes were missed; told once",
    "NothingNew": "names the instant of the last look that it counts",
    "EvidenceSeen": "names the occasion; what was captured of one is no news twice",
    "StatusNotWritten": "names the instant at which the first try in a row failed",
    "LedgerSetBack": "names what was known, the instant and the end that was found",
}
"""Observations whose id says something that is so only once, and what."""

MARKED = "its observation is one of `RECURRING`: the stream's length comes to it"
PLACES = {
    ("core/jobs/reconcile.py", "effect_id_of"): "follows from an observation's id, kind and name",
    ("core/jobs/reconcile.py", "decision_id_of"): "follows from an observation's id and subject",
    ("core/kinds.py", "seen"): "names the first id and the stream's length",
    ("core/log/recording.py", "event_id"): "follows from an observation's id and the ordinal",
    ("adapters/kinds/batchjob/observations.py", "job"): MARKED,
    ("adapters/kinds/batchjob/observations.py", "attempt's job"): MARKED,
    ("adapters/kinds/batchjob/watched.py", "attempt's job gone"): MARKED,
    ("adapters/kinds/batchjob/watched.py", "job gone"): MARKED,
    ("adapters/kinds/rayjob/acting/pod_looks.py", "pods"): ONCE["PodsSeen"],
    ("adapters/kinds/rayjob/resync.py", "part gone"): MARKED,
    ("adapters/kinds/rayjob/watching/listeners.py", "(computed)"): MARKED,
    ("adapters/kinds/rayjob/watching/observations.py", "manifest"): MARKED,
    ("adapters/kinds/rayjob/watching/observations.py", "cluster"): MARKED,
    ("adapters/kinds/rayjob/watching/observations.py", "submitter"): MARKED,
    ("adapters/kinds/rayjob/watching/observations.py", "head"): MARKED,
    ("adapters/kinds/rayjob/watching/watched.py", "manifest gone"): MARKED,
    ("adapters/kinds/trainjob/watching/listeners.py", "(computed)"): MARKED,
    ("adapters/kinds/trainjob/watching/observations.py", "trainjob"): MARKED,
    ("adapters/kinds/trainjob/watching/observations.py", "runtime"): MARKED,
    ("adapters/kinds/trainjob/watching/observations.py", "jobset"): MARKED,
    ("adapters/kinds/trainjob/watching/plugin_conditions.py", "plugin conditions"): MARKED,
    ("adapters/kinds/trainjob/watching/progress.py", "progress"): MARKED,
    ("adapters/kinds/trainjob/watching/watched.py", "trainjob gone"): MARKED,
    ("adapters/service/effects/carrying_out.py", "effect ended"): ONCE["EffectEnded"],
    ("adapters/service/evidence/one_capture.py", "evidence"): ONCE["EvidenceSeen"],
    ("adapters/kinds/rayjob/heads/answers.py", "poll"): ONCE["PollAnswered"],
    ("adapters/kinds/rayjob/heads/polls.py", "poll"): ONCE["PollAnswered"],
    ("adapters/service/loop/falling_due.py", "due"): MARKED,
    ("adapters/service/observing/confirmations.py", "nothing new"): ONCE["NothingNew"],
    ("adapters/service/resync/earlier_forms.py", "went back"): MARKED,
    ("adapters/service/resync/held_jobs.py", "survey"): MARKED,
    ("adapters/service/shards/set_back.py", "set back"): ONCE["LedgerSetBack"],
    ("adapters/service/status/status_writer.py", "status written"): MARKED,
    ("adapters/service/status/unwritten.py", "status not written"): ONCE["StatusNotWritten"],
    ("adapters/service/watches/job_listener.py", "driven by another"): MARKED,
    ("adapters/service/watches/job_listener.py", "gap"): ONCE["WatchInterrupted"],
    ("adapters/service/watches/job_listener.py", "(computed)"): MARKED,
    ("adapters/service/watches/job_listener.py", "taken back"): MARKED,
}
"""Every place where an id is computed from what it is about -> why it cannot repeat wrongly."""


def found_places() -> Iterator[tuple[str, str]]:
    for folder in ("core", "adapters"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    about = _about(node, node.func.id)
                    if about:
                        yield str(path.relative_to(ROOT)), about


def _about(call: ast.Call, name: str) -> str:
    if name in ("effect_id_of", "decision_id_of", "event_id"):
        return name
    if name != "observation_id":
        return ""
    what = call.args[1]
    return str(what.value) if isinstance(what, ast.Constant) else "(computed)"


def test_every_place_that_computes_an_id_is_judged() -> None:
    assert set(found_places()) == set(PLACES)


def test_every_observation_may_recur_or_says_why_not() -> None:
    names = {kind.__name__ for kind in get_args(JobObservation)}
    assert {kind.__name__ for kind in RECURRING} | set(ONCE) == names
    assert not {kind.__name__ for kind in RECURRING} & set(ONCE)


def heard(world: ServiceWorld) -> list[JobObservation]:
    """Return a list to which every observation is added that comes in from now on."""
    came: list[JobObservation] = []
    put = world.service.inbox.put

    def note(stream: StreamId, observation: JobObservation) -> None:
        came.append(observation)
        put(stream, observation)

    world.service.inbox.put = note  # type: ignore[method-assign]
    return came


def is_known(world: ServiceWorld, stream: StreamId, seen: JobObservation) -> bool:
    """Return whether the job's state has taken in what an observation says."""
    slot = world.service.slots.held(stream)
    return slot is not None and decide(slot.view.state, seen).events == ()


def tell(world: ServiceWorld, stream: StreamId, seen: JobObservation) -> None:
    world.service.inbox.put(stream, seen)
    world.service.controller.run_once(wait_seconds=0)


def settle(world: ServiceWorld) -> None:
    world.run(lambda: True, "rest")


def test_a_rayjob_that_a_restored_etcd_shows_as_it_was_before() -> None:
    """After the restore it was edited otherwise, so the generation is the same as well."""
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    came = heard(world)
    world.cluster.edit(RAYJOBS, "ml", "train", spec={**a_rayjob()["spec"], "backoffLimit": 7})
    settle(world)
    looks = [item for item in came if isinstance(item, ManifestSeen)]
    first = max(looks, key=lambda look: look.generation)
    second = replace(first, id=observation_id(stream, "manifest", "other"), digest="other")
    for seen in (second, first, second, first):
        tell(world, stream, seen)
        assert is_known(world, stream, seen)


def test_a_trainjob_that_a_restored_etcd_shows_as_it_was_before() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    came = heard(world)
    world.change(labels={"n": "1"})
    settle(world)
    looks = [item for item in came if isinstance(item, TrainJobSeen)]
    first = max(looks, key=lambda look: look.generation)
    second = replace(first, id=observation_id(stream, "trainjob", "other"), digest="other")
    for seen in (second, first, second, first):
        tell(world, stream, seen)
        assert is_known(world, stream, seen)


def test_a_runtime_that_is_as_it_was_before() -> None:
    world = TrainWorld()
    stream = world.train()
    world.run(lambda: world.service.slots.held(stream) is not None, "the job to be known")
    one, other = (
        RuntimeSeen(id=observation_id(stream, "runtime", found), at=after(0), digest=found)
        for found in ("one", "other")
    )
    for seen in (one, other, one, other):
        tell(world, stream, seen)
        assert is_known(world, stream, seen)
