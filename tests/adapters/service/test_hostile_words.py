"""What a job's author writes as a name or an id, as it comes to the log: of every kind of job."""

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import pytest

from jobledger.adapters.kinds.batchjob.observations import COUNT_MAX, see_attempt, see_job
from jobledger.adapters.kinds.rayjob.watching.observations import see_manifest
from jobledger.adapters.kinds.trainjob.watching.observations import see_trainjob
from jobledger.adapters.service.observing.mapper import ObservationMapper, identify
from jobledger.core.batchjob.observations import BatchJobSeen
from jobledger.core.jobs.control.lost_history import RECOVER_ANNOTATION, mark_of
from jobledger.core.jobs.policy import Policy
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.log.storable import WORD_CHARACTERS_MAX
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.trainjob.observations import TrainJobSeen
from tests.support.api import rayjob
from tests.support.records import NOON

HOSTILE = ("a\x00b", "\x00", "\ud800", "a\udfffb")
LONG = "x" * 1_000_000
DOOR = ObservationMapper(cluster="kind", policy=Policy(), redaction_key=b"k" * 32)
See: TypeAlias = Callable[..., ManifestSeen | TrainJobSeen | BatchJobSeen]


def with_spec(**spec: object) -> dict[str, Any]:
    made = rayjob("mine", **spec)
    created = "2026-11-22T03:00:00Z"
    made["metadata"] |= {"namespace": "ml", "uid": "u", "creationTimestamp": created}
    return made


def on(cluster: str) -> dict[str, Any]:
    return {"clusterSelector": {"ray.io/cluster": cluster}}


def everywhere(text: str) -> dict[str, Any]:
    """Return specification fields that the rules read, each with a text."""
    rule = {"policy": "DeleteCluster", "condition": {"jobStatus": text}}
    return {
        "jobId": text,
        "managedBy": text,
        "submissionMode": text,
        "deletionStrategy": {"deletionRules": [rule]},
        "runtimeRef": {"name": text, "kind": text, "apiGroup": text},
        **on(text),
    }


def shown(text: str) -> dict[str, Any]:
    """Return status fields that the rules read, each with a text."""
    fields = ("jobDeploymentStatus", "jobStatus", "jobId", "rayClusterName", "dashboardURL")
    condition = {"type": text, "status": "True", "reason": text, "message": text}
    status: dict[str, Any] = dict.fromkeys((*fields, "reason", "message"), text)
    return status | {"conditions": [condition], "jobsStatus": [{"name": text}]}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("see", [see_manifest, see_trainjob, see_job])
def test_whatever_a_job_holds_the_log_can_hold_what_was_seen(see: See, text: str) -> None:
    """Else Postgres refuses its first event: it stays without a status and says nothing."""
    manifest = with_spec(**everywhere(text)) | {"status": shown(text)}
    manifest["metadata"]["annotations"] = {RECOVER_ANNOTATION: text}
    identity = identify("kind", manifest)
    seen = see(DOOR, identity, manifest, Redactor(b"k" * 32, frozenset()), NOON)
    written = msgspec.json.encode(seen, enc_hook=dict).decode()
    assert "\\u0000" not in written
    assert "mine" in written


@pytest.mark.parametrize("see", [see_manifest, see_trainjob, see_job])
def test_of_an_overlong_word_no_more_is_kept_than_of_any(see: See) -> None:
    manifest = with_spec(jobId=LONG, runtimeRef={"name": LONG}, managedBy=LONG, **on(LONG))
    seen = see(DOOR, identify("kind", manifest), manifest, Redactor(b"k" * 32, frozenset()), NOON)
    assert len(msgspec.json.encode(seen.spec)) < 5 * WORD_CHARACTERS_MAX


@pytest.mark.parametrize("see", [see_manifest, see_trainjob, see_job])
def test_of_the_annotation_that_asks_to_take_over_only_a_mark_is_seen(see: See) -> None:
    """What was seen is kept in the log, and anything may stand there."""
    for written, kept in ((mark_of(NOON), mark_of(NOON)), ("a password", ""), (LONG, "")):
        manifest = with_spec()
        manifest["metadata"]["annotations"] = {RECOVER_ANNOTATION: written}
        identity = identify("kind", manifest)
        seen = see(DOOR, identity, manifest, Redactor(b"k" * 32, frozenset()), NOON)
        assert seen.recover == kept


@pytest.mark.parametrize("text", HOSTILE)
def test_so_it_is_with_what_the_job_of_an_attempt_says(text: str) -> None:
    """Its status is written by whoever has the right; its conditions are texts of anybody."""
    end = {"type": "Failed", "status": "True", "reason": text, "message": text}
    status = {"conditions": [end], "failed": 2**70, "active": -1, "ready": text}
    manifest = with_spec() | {"status": status}
    stream = identify("kind", manifest).stream_id
    seen = see_attempt(stream, manifest, Redactor(b"k" * 32, frozenset()), NOON)
    assert "\\u0000" not in msgspec.json.encode(seen, enc_hook=dict).decode()
    assert seen.pods.failed <= COUNT_MAX
    assert seen.pods.active == 0
