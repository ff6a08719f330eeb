"""The door of the log: what is seen, told without its secrets."""

from typing import Any

import msgspec
import pytest

from jobledger.adapters.kinds.rayjob.heads.answers import see_answer
from jobledger.adapters.service.observing.mapper import COUNT_MAX, MESSAGE_CHARACTERS_MAX
from jobledger.core.kinds import JobObservation
from jobledger.core.log.redaction.redact import HIDDEN
from jobledger.core.log.redaction.secret_values import SECRETS_MAX
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.ports.ray_jobs import RayJobInfo
from jobledger.core.rayjob.observations.observations import (
    ClusterSeen,
    ManifestSeen,
    PollAnswered,
    SeenStatus,
    SubmitterSeen,
)
from jobledger.core.values.documents import Json
from tests.adapters.service.parts import SECRET, Bench, a_rayjob
from tests.rules.rayjob.jobs import HEAD_ENV
from tests.support.records import NOON
from tests.support.service_world import DOOR

ENV: Json = [{"name": "API_TOKEN", "value": SECRET}]


def shown(observation: JobObservation) -> str:
    """Return everything that an observation says."""
    return repr(observation)


def seen_first(bench: Bench, manifest: dict[str, Any]) -> ManifestSeen:
    metadata = {"uid": "u", "resourceVersion": "7", "generation": 1, "name": "train"}
    whole = {**manifest, "metadata": {**metadata, **manifest["metadata"]}}
    bench.jobs.seen(whole, NOON)
    (seen,) = bench.said()
    assert isinstance(seen, ManifestSeen)
    return seen


def test_secrets_of_a_manifest_stay_outside_wherever_they_stand() -> None:
    manifest = a_rayjob(
        {HEAD_ENV: ENV},
        runtimeEnvYAML=f"env_vars: {{WANDB: {SECRET}}}\nworking_dir: s3://x?sig={SECRET}",
        entrypoint=f"python train.py --token {SECRET} # {SECRET}",
        metadata={"note": SECRET},
    )
    manifest["metadata"]["annotations"] = {
        "note": SECRET,
        "kubectl.kubernetes.io/last-applied-configuration": f'{{"x": "{SECRET}"}}',
    }
    manifest["metadata"]["labels"] = {"x": SECRET}
    manifest["status"] = {
        "jobDeploymentStatus": "Running",
        "message": f"said {SECRET}",
        "reason": SECRET,
    }
    seen = seen_first(Bench(), manifest)
    assert SECRET not in shown(seen)
    assert "redacted:" in shown(seen)
    assert seen.status.phase == "Running"


NONSENSE: list[tuple[dict[str, Any], SeenStatus]] = [
    ({"failed": -100, "succeeded": -1}, SeenStatus(phase="")),
    ({"failed": 10**30}, SeenStatus(phase="", failed=COUNT_MAX)),
    ({"failed": "3", "succeeded": True, "startTime": 5}, SeenStatus(phase="")),
    ({"startTime": "9999-12-31T23:59:59Z"}, SeenStatus(phase="", started_at=NOON)),
    ({"startTime": "0001-01-01T00:00:00Z"}, SeenStatus(phase="")),
    ({"endTime": "0001-01-01T00:00:00+14:00"}, SeenStatus(phase="")),
    ({"jobId": "x" * 100_000, "rayClusterName": ["a"]}, SeenStatus(phase="")),
    ({"dashboardURL": {}, "jobDeploymentStatus": "x" * 5000}, SeenStatus(phase="")),
]
"""What somebody wrote into a status -> what is taken over of it."""


@pytest.mark.parametrize(("status", "taken"), NONSENSE)
def test_nonsense_in_a_status_is_left_out(status: dict[str, Any], taken: SeenStatus) -> None:
    """A negative counter would grant retries without end, a far instant could not be added to."""
    seen = seen_first(Bench(), {**a_rayjob(), "status": status})
    assert seen.status == taken


def test_a_runtime_environment_that_cannot_be_read_is_not_shown_at_all() -> None:
    text = f"env_vars:\n  WANDB_API_KEY: {SECRET}\n  broken: ["
    seen = seen_first(Bench(), a_rayjob(runtimeEnvYAML=text, entrypoint=f"echo {SECRET}"))
    assert seen.problem is not None
    assert SECRET not in shown(seen)


def test_what_is_wrong_with_a_manifest_is_told_without_quoting_a_secret() -> None:
    bad: Json = [{"name": "API_TOKEN", "value": SECRET}, {"name": f"{SECRET} x", "value": "y"}]
    manifest = a_rayjob({HEAD_ENV: bad}, jobId=SECRET, submissionMode=SECRET)
    seen = seen_first(Bench(), manifest)
    assert seen.problem is None or SECRET not in seen.problem.message
    assert SECRET not in msgspec.json.encode(dict(seen.document)).decode()


def test_what_is_wrong_with_a_manifest_of_too_many_secrets_says_why_it_cannot_be_quoted() -> None:
    many: list[Json] = [
        {"name": f"TOKEN_{number}", "value": f"{SECRET}-{number}"}
        for number in range(SECRETS_MAX + 1)
    ]
    seen = seen_first(Bench(), a_rayjob({HEAD_ENV: many}, backoffLimit=-1))
    assert seen.problem is not None
    assert seen.problem.message.startswith("redacted:")
    assert seen.problem.message.endswith(f"({HIDDEN})")


def test_what_is_wrong_with_a_runtime_environment_is_told_of_a_job_of_too_many_secrets() -> None:
    """Nothing of the job is in it."""
    text = "".join(f"V{number}: {SECRET}\n" for number in range(20_000))
    seen = seen_first(Bench(), a_rayjob(runtimeEnvYAML=text))
    assert seen.problem is not None
    assert "longer than 262144 characters" in seen.problem.message
    assert HIDDEN not in seen.problem.message


def test_what_children_and_heads_say_goes_through_the_redactor_of_the_job() -> None:
    bench = Bench()
    job = bench.job({HEAD_ENV: ENV})
    owner: Json = [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "controller": True,
            "uid": job.identity.uid,
        }
    ]
    metadata: Json = {
        "uid": "c",
        "name": "train",
        "namespace": "ml",
        "resourceVersion": "9",
        "ownerReferences": owner,
    }
    bench.clusters.seen(
        {"metadata": metadata, "status": {"state": "ready", "reason": f"x {SECRET}"}}, NOON
    )
    failed: Json = {
        "type": "Failed",
        "status": "True",
        "message": f"log: {SECRET}",
        "reason": f"{SECRET}",
    }
    bench.submitters.seen({"metadata": metadata, "status": {"conditions": [failed]}}, NOON)
    info = RayJobInfo(status="FAILED", message=f"Traceback {SECRET}", error_type=SECRET)
    answered = see_answer(job.identity.stream_id, "id", info, job.redactor, NOON)
    said = [*bench.said(), answered]
    assert [type(item) for item in said] == [ClusterSeen, SubmitterSeen, PollAnswered]
    assert [SECRET in shown(item) for item in said] == [False] * 3


def test_long_messages_are_cut() -> None:
    bench = Bench()
    job = bench.job()
    info = RayJobInfo(status="FAILED", message="x" * (MESSAGE_CHARACTERS_MAX + 1))
    answered = see_answer(job.identity.stream_id, "id", info, job.redactor, NOON)
    assert len(answered.message) == MESSAGE_CHARACTERS_MAX


def test_secrets_of_an_earlier_form_are_still_kept_out() -> None:
    """What runs was started from it, and its log shows it."""
    bench = Bench()
    bench.job({HEAD_ENV: ENV})
    rotated: Json = [{"name": "API_TOKEN", "value": "another-Secret-77-value"}]
    changed = a_rayjob({HEAD_ENV: rotated})["spec"]
    job = bench.see(bench.cluster.edit(RAYJOBS, "ml", "train", spec=changed))
    told = job.redactor.text(f"old {SECRET} new another-Secret-77-value", 1000)
    assert SECRET not in told
    assert "another-Secret-77-value" not in told


def test_the_same_object_seen_twice_is_the_same_observation() -> None:
    manifest = a_rayjob()
    assert seen_first(Bench(), manifest) == seen_first(Bench(), manifest)
    assert DOOR.cluster == seen_first(Bench(), manifest).identity.cluster
