"""Fields of a wrong type are named; and no JSON at all makes anything here raise."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobledger.core.rayjob.manifests.http_submission import build_submission
from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.rayjob.observations.children import (
    dashboard_address,
    mirrored_status,
    owner_uid,
    submitter_end,
)
from jobledger.core.rayjob.validation.types import (
    FIELDS,
    FLAG,
    FLOAT32,
    INT32,
    LIST,
    OBJECT,
    TEXT,
    TEXTS,
    Shape,
    _in_order,
    type_problems,
)
from jobledger.core.rayjob.validation.validate import validate
from jobledger.core.values.documents import Json
from tests.rules.rayjob.jobs import HEAD_ENV, HEAD_POD, WORKERS, Change, rayjob, selecting
from tests.rules.rayjob.upstream import field_schema

INT = "write a whole number from -2147483648 to 2147483647, without quotes"
STRING = "write a text, in quotes if it looks like something else"


class Row(NamedTuple):
    rule: str
    change: Change
    message: str


ROWS = (
    Row("a number in quotes", {"spec.backoffLimit": "3"}, f'spec.backoffLimit is "3"; {INT}'),
    Row(
        "a number beyond 32 bits",
        {"spec.activeDeadlineSeconds": 2**31},
        f"spec.activeDeadlineSeconds is 2147483648; {INT}",
    ),
    Row(
        "a number beyond any bits",
        {"spec.backoffLimit": 10**5000},
        f"spec.backoffLimit is a number beyond 64 bits; {INT}",
    ),
    Row(
        "a number with a fraction",
        {"spec.ttlSecondsAfterFinished": 1.5},
        f"spec.ttlSecondsAfterFinished is 1.5; {INT}",
    ),
    Row("true is no number", {"spec.backoffLimit": True}, f"spec.backoffLimit is true; {INT}"),
    Row(
        "a word for true",
        {"spec.suspend": "yes"},
        'spec.suspend is "yes"; write true or false, without quotes',
    ),
    Row("a number as text", {"spec.entrypoint": 5}, f"spec.entrypoint is 5; {STRING}"),
    Row(
        "an object as text",
        {"spec.entrypoint": {"a": 1}},
        f"spec.entrypoint is an object; {STRING}",
    ),
    Row(
        "a text as object, not repeated",
        {"spec.rayClusterSpec": "hunter2"},
        "spec.rayClusterSpec is a text; write an object with named fields",
    ),
    Row(
        "a selector that is a text",
        {"spec.rayClusterSpec": None, "spec.clusterSelector": "shared"},
        "spec.clusterSelector is a text; write an object whose values are all texts "
        "(quote numbers and booleans)",
    ),
    Row(
        "metadata with a number",
        {"spec.metadata": {"team": "ml", "run": 7}},
        'spec.metadata is an object whose "run" is 7; write an object whose values are all texts '
        "(quote numbers and booleans)",
    ),
    Row(
        "a container that is a text",
        {f"{HEAD_POD}.containers": ["ray"]},
        "spec.rayClusterSpec.headGroupSpec.template.spec.containers[0] is a text; "
        "write an object with named fields",
    ),
    Row(
        "an item that is null",
        {HEAD_ENV: [{"name": "A"}, None]},
        "spec.rayClusterSpec.headGroupSpec.template.spec.containers[0].env[1] is null; "
        "write an object with named fields",
    ),
    Row(
        "a list that is an object",
        {"spec.submitterPodTemplate": {"spec": {"containers": [{"env": {"A": "1"}}]}}},
        "spec.submitterPodTemplate.spec.containers[0].env is an object; write a list",
    ),
    Row(
        "rules of deletion that are no list",
        {"spec.deletionStrategy": {"deletionRules": {"policy": "DeleteSelf"}}},
        "spec.deletionStrategy.deletionRules is an object; write a list",
    ),
    Row(
        "arguments in one text",
        {"spec.submitterPodTemplate": {"spec": {"containers": [{"args": "-c"}]}}},
        "spec.submitterPodTemplate.spec.containers[0].args is a text; write a list",
    ),
    Row(
        "an amount that no 32-bit float holds",
        {"spec.entrypointNumCpus": 1e39},
        "spec.entrypointNumCpus is 1e+39; write a number that fits 32 bits, without quotes",
    ),
    Row(
        "a worker group's replicas",
        {f"{WORKERS}.replicas": []},
        f"spec.rayClusterSpec.workerGroupSpecs[0].replicas is a list; {INT}",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_a_wrong_type_is_named_with_what_to_do(row: Row) -> None:
    problem = validate(rayjob(row.change))
    assert problem is not None
    assert problem.kind == "InvalidRayJobSpec"
    assert problem.message == f"The RayJob spec is invalid: {row.message}"


def test_what_is_in_a_field_of_a_wrong_type_is_no_problem_of_its_own() -> None:
    spec = {"submitterPodTemplate": {"spec": {"containers": {"image": 5}}}}
    (problem,) = type_problems(spec)
    assert "spec.submitterPodTemplate.spec.containers is an object" in problem


VALUES: tuple[Json, ...] = (
    *(None, True, 1, 2**40, 1.5, "x", [], [None], ["x"], [1], [[]], [{}], {}),
    *({"a": "b"}, {"a": 1}, {"items": [None]}, [{"name": 1}], [{"env": [None]}]),
)


def _with(path: str, value: Json) -> dict[str, Json]:
    key, _, rest = path.partition(".")
    inner = _with(rest, value) if rest else value
    return {key.removesuffix("[]"): [inner] if key.endswith("[]") else inner}


def test_the_quick_walk_finds_fault_where_the_walk_for_each_field_does() -> None:
    for path, _ in FIELDS:
        for value in VALUES:
            spec = _with(path, value)
            assert list(type_problems(spec)) == list(_in_order(spec)), (path, value)


TYPES: dict[Shape, dict[str, Any]] = {
    TEXT: {"type": "string"},
    FLAG: {"type": "boolean"},
    INT32: {"type": "integer", "format": "int32"},
    FLOAT32: {"type": "number"},
    OBJECT: {"type": "object"},
    TEXTS: {"type": "object", "additionalProperties": {"type": "string"}},
    LIST: {"type": "array"},
}


@pytest.mark.parametrize("path", [path for path, _ in FIELDS])
def test_every_type_is_that_of_upstreams_definition(path: str) -> None:
    expected = TYPES[dict(FIELDS)[path]]
    schema = field_schema(path)
    assert {key: schema.get(key) for key in expected} == expected


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
CONCRETE = [f"spec.{path}".replace("[]", ".0") for path, _ in FIELDS] + [
    *("spec", "status", "metadata", "metadata.name", "metadata.labels", "metadata.annotations"),
    *("metadata.ownerReferences", "status.conditions", "status.jobDeploymentStatus"),
    *("spec.rayClusterSpec.networkPolicy", "spec.rayClusterSpec.historyServerOptions"),
]
FULL = rayjob(
    metadata={"a": "b"},
    submitterConfig={"backoffLimit": 1},
    submitterPodTemplate={"spec": {"containers": [{"name": "s", "env": [{"name": "A"}]}]}},
)
MODES = ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode", "", "Other")


def _put(job: Any, path: str, value: Any) -> None:  # noqa: ANN401 any JSON
    """Put `value` at `path`, as far as the way there still leads through objects and lists."""
    *parents, last = path.split(".")
    for key in parents:
        job = _step(job, key)
    if isinstance(job, dict):
        job[last] = value
    elif isinstance(job, list) and job:
        job[0] = value


def _step(here: Any, key: str) -> Any:  # noqa: ANN401 any JSON
    if isinstance(here, dict):
        return here.get(key)
    return here[0] if isinstance(here, list) and here else None


def _build_all(job: Mapping[str, Any]) -> None:
    """Build everything that can be built, and hold it against JSON's rules."""
    for cluster in (None, build_cluster(job, "c", 1, job_id="j", runtime_env={"a": 1})):
        built = build_submitter(
            job,
            cluster=cluster,
            cluster_name="c",
            address="h:8265",
            job_id="j",
            runtime_env=None,
            attempt=1,
        )
        json.dumps((built, cluster), allow_nan=True)
    build_submission(job, "j", None)


def _read_all(document: Mapping[str, Any]) -> None:
    owner_uid(document)
    dashboard_address(document)
    mirrored_status(document)
    submitter_end(document)


@settings(max_examples=150)
@given(
    base=st.sampled_from((FULL, rayjob(), selecting())),
    mode=st.sampled_from(MODES),
    changes=st.lists(st.tuples(st.sampled_from(CONCRETE), ANY_JSON), max_size=4),
)
def test_no_json_makes_validation_raise_and_what_is_valid_can_be_built(
    base: dict[str, Any], mode: str, changes: list[tuple[str, Any]]
) -> None:
    job: dict[str, Any] = json.loads(json.dumps(base))
    _put(job, "spec.submissionMode", mode)
    for path, value in changes:
        _put(job, path, value)
    if validate(job) is None:
        _build_all(job)
    _read_all(job)


@settings(max_examples=100)
@given(document=st.dictionaries(st.sampled_from(("metadata", "spec", "status")), ANY_JSON))
def test_any_object_at_all_can_be_validated_and_read(document: dict[str, Any]) -> None:
    validate(document)
    _read_all(document)
