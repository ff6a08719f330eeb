"""Names and ids of a RayJob that no address and no object can have."""

from typing import Any

import pytest

from jobledger.core.rayjob.validation.validate import validate
from tests.support.api import rayjob

HOSTILE = ("a\x00b", "\x00", "\ud800", "a\udfffb")
ODD = ("../x", "..", "a/b", "%2f", "a%2fb", "a?b", "a#b", "a b", "A", "-a", "a\nb", "é")
LONG = "x" * 1_000_000


def with_spec(**spec: object) -> dict[str, Any]:
    return rayjob("mine", **spec)


def on(cluster: str) -> dict[str, Any]:
    return {"clusterSelector": {"ray.io/cluster": cluster}}


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "..",
        "a/b",
        "%2f",
        "a%2fb",
        "a?b",
        "a#b",
        "a b",
        "A",
        "-a",
        "a\nb",
        "é",
        LONG,
        *HOSTILE,
    ],
)
def test_what_can_be_the_name_of_no_raycluster_is_refused_in_a_sentence(name: str) -> None:
    problem = validate(with_spec(**on(name)))
    assert problem is not None
    assert problem.kind == "InvalidRayJobSpec"
    assert "spec.clusterSelector['ray.io/cluster'] is '" in problem.message
    assert "which is the name of no RayCluster" in problem.message
    assert len(problem.message) < 1000
    assert problem.message.isprintable()


@pytest.mark.parametrize("name", ["shared", "a.b-c.d", "x" * 253])
def test_the_name_of_a_raycluster_is_taken(name: str) -> None:
    assert validate(with_spec(**on(name))) is None


@pytest.mark.parametrize("job_id", [*HOSTILE, "a/b", "..", "a%2fb", "a?b", "a#b", LONG, "x" * 254])
def test_what_can_be_no_submission_id_is_refused_in_a_sentence(job_id: str) -> None:
    problem = validate(with_spec(jobId=job_id))
    assert problem is not None
    assert problem.message.startswith("The RayJob spec is invalid: spec.jobId ")
    assert len(problem.message) < 1000
    assert problem.message.isprintable()
