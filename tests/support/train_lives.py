"""One story for every kind of life that a TrainJob can have, and how such a life is recorded."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeAlias
from unittest.mock import patch

from msgspec.structs import replace

from jobledger.core.jobs.evidence.evidence import ContainerEnd, KeptLog, PodEvidence
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import Tail, Writer
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from jobledger.core.trainjob.spec import RuntimeRef
from jobledger.core.turns import record_turn
from jobledger.core.values.ids import stream_id
from tests.support import trainjobs
from tests.support.contributions import POD_GROUP, plugin_told, pod_group_gone
from tests.support.records import NOON
from tests.support.trainjobs import (
    UNNAMED,
    Played,
    Step,
    after,
    applied,
    completed,
    completed_end,
    counts,
    created,
    deleted,
    due,
    failed_end,
    faltered,
    interrupted,
    jobset,
    jobset_gone,
    manifest,
    manifest_gone,
    named,
    not_built,
    not_created,
    running,
    runtime,
    seen,
    superseded,
    written,
)

TrainStory: TypeAlias = Callable[[], Iterable[Step]]
"""Builds a story: called when it is known whose story it is."""

UNKNOWN = RuntimeRef(name="x", kind="Runtime", group="example.org")
RETRY, DEADLINE = DecisionKind.EFFECT_RETRY, DecisionKind.ACTIVE_DEADLINE

LOG = "epoch 3\nFileNotFoundError: [Errno 2] No such file or directory: '/data/shard-7'\n"
"""The end of the log that is captured of a node that failed."""

LOG_DIGEST = hashlib.sha256(LOG.encode()).hexdigest()


def captured(at: float = 61, attempt: int = 1) -> EvidenceSeen:
    """Return what was captured of a node after it failed."""
    node = f"{trainjobs.JOB}-node-0-0"
    end = ContainerEnd(name="node", state="terminated", reason="Error", exit_code=1)
    kept = KeptLog(
        source=node,
        container="node",
        digest_of_content=LOG_DIGEST,
        size=len(LOG),
        last_lines=tuple(LOG.splitlines()),
    )
    pod = PodEvidence(name=node, uid="pod-1", role="node", phase="Failed", containers=(end,))
    return named(
        EvidenceSeen(
            id=UNNAMED,
            at=after(at),
            attempt=attempt,
            occasion=f"failure/{attempt}",
            pods=(pod,),
            logs=(kept,),
        )
    )


def _failed() -> tuple[Step, ...]:
    end = failed_end()
    return *running(), jobset(60, counts(failed=1), end=end), captured(), jobset_gone(300)


def _restarts_used_up() -> tuple[Step, ...]:
    end = failed_end(90, reason="ReachedMaxRestarts")
    again = jobset(40, counts(active=1, ready=1), restarts=1)
    return *running(), again, jobset(90, counts(failed=1), restarts=1, end=end)


def _past_its_deadline() -> tuple[Step, ...]:
    late = (due(DEADLINE), deleted(101), jobset_gone(110))
    return *running(active_deadline_seconds=100), *late


def _suspended_and_resumed() -> tuple[Step, ...]:
    return (
        *running(),
        manifest(30, generation=2, suspend=True),
        applied(31, generation=2, suspend=True),
        jobset(33, counts(suspended=1), generation=2, suspend=True),
        manifest(50, generation=3),
        applied(51, generation=3),
        jobset(55, counts(active=1, ready=1), generation=3),
    )


def _made_its_jobset_anew() -> tuple[Step, ...]:
    end = failed_end(90)
    again = (applied(51, uid="jobset-2"), jobset(90, counts(failed=1), uid="jobset-2", end=end))
    return *running(), jobset_gone(50), *again


def _lost_its_jobset() -> tuple[Step, ...]:
    return *running(active_deadline_seconds=100), jobset_gone(50), faltered(51), due(DEADLINE)


def _of_an_unknown_runtime() -> tuple[Step, ...]:
    return (manifest(runtime=UNKNOWN, policy=TrainPolicy(conditions=ConditionStyle.UPSTREAM)),)


def _waited_for_its_runtime() -> tuple[Step, ...]:
    without = not_built(1, "no runtime", runtime_digest="", may_pass=True)
    return manifest(), without, runtime(at=8), applied(9)


def _refused_by_a_quota() -> tuple[Step, ...]:
    waited = (due(RETRY), faltered(11), superseded(12), due(RETRY))
    return *seen(), not_created(1), *waited, applied(33)


def _built_by_another_version() -> tuple[Step, ...]:
    newer = named(replace(manifest(30), builder="jobledger 2"))
    return *seen(), not_built(1), newer, applied(31)


def _with_plugin_conditions() -> Iterable[Step]:
    """A gang that is pending, scheduled, gone and made again; a second plugin is refused."""
    policy = TrainPolicy(propagates=True)
    pending = Condition(
        type="GangScheduled",
        is_true=False,
        reason="Unschedulable",
        message="2 of 4 Pods",
        since=after(5),
    )
    scheduled = replace(pending, is_true=True, reason="Scheduled", message="", since=after(12))
    second = replace(POD_GROUP, uid="uid-of-second-group", version="30")
    return (
        *created(policy=policy),
        plugin_told(pending, at=5),
        plugin_told(pending, at=6, plugin="other"),
        plugin_told(scheduled, at=12, source=replace(POD_GROUP, version="20")),
        jobset(20, counts(active=1)),
        pod_group_gone(25),
        applied(26),
        plugin_told(replace(pending, unknown=True, since=after(27)), at=27, source=second),
        jobset(60, counts(succeeded=1), end=completed_end()),
    )


TRAIN_LIVES: Mapping[str, TrainStory] = {
    "training-completed": lambda: (*completed(), written(61), manifest_gone(200)),
    "training-failed": _failed,
    "training-out-of-restarts": _restarts_used_up,
    "training-past-its-deadline": _past_its_deadline,
    "training-suspended-and-resumed": _suspended_and_resumed,
    "training-made-its-jobset-anew": _made_its_jobset_anew,
    "training-lost-its-jobset": _lost_its_jobset,
    "training-of-an-unknown-runtime": _of_an_unknown_runtime,
    "training-waited-for-its-runtime": _waited_for_its_runtime,
    "training-refused-by-a-quota": _refused_by_a_quota,
    "training-built-by-another-version": _built_by_another_version,
    "training-watched-through-a-gap": lambda: (*running(), interrupted(40, 50)),
    "training-born-suspended": lambda: created(suspend=True),
    "training-with-plugin-conditions": _with_plugin_conditions,
    "training-deleted": lambda: (*running(), manifest(60, deleting=True), manifest_gone(70)),
}
"""Name -> story."""


@contextmanager
def training_called(name: str) -> Iterator[None]:
    """Let the builders of observations speak of a TrainJob of this name."""
    uid = f"uid-of-{name}"
    stream = stream_id("kind", uid, NOON)
    identity = replace(trainjobs.IDENTITY, name=name, uid=uid, stream_id=stream)
    words: dict[str, Any] = {"JOB": name, "UID": uid, "STREAM": stream, "IDENTITY": identity}
    with patch.multiple(trainjobs, **words):
        yield


def recorded_training(name: str, latency_seconds: float = 0.02) -> list[EventRecord]:
    """Return the records of a life: each turn with its own cause, hashed and linked."""
    with training_called(name):
        played = Played()
        tail = Tail(stream_id=trainjobs.STREAM, version=0, chain=GENESIS)
        records: list[EventRecord] = []
        for step in TRAIN_LIVES[name]():
            observation = step(played.state) if callable(step) else step
            played.take(observation)
            now = observation.at + timedelta(seconds=latency_seconds)
            writer = Writer(actor="jobledger-0", epoch=1, now=now)
            made, tail = record_turn(tail, writer, observation, played.decided)
            records += made
    return records
