"""A field that the definition of a kind does not declare is sent once in a while, not each time."""

from typing import Any

import pytest

from jobledger.adapters.service.status.undeclared import (
    ASK_AGAIN_SECONDS,
    UndeclaredFields,
    undeclared_in,
)
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest
from tests.adapters.service.desk import Desk, a_status

LACKS = "failed to create typed patch object (ml/train; ray.io/v1, Kind=RayJob): "
LATER = {"later": {"a": 1}}
COPIED = {"rayClusterStatus": {"state": "ready", "aFieldOfTomorrow": 1}}
WRONG = {"rayClusterStatus": {"desiredWorkerReplicas": "3"}}


@pytest.mark.parametrize(
    ("refusal", "found"),
    [
        (".status.later: field not declared in schema", {"later": True}),
        (".status.a.b.c: field not declared in schema", {"a": False}),
        (
            "errors:\n  .status.a: field not declared in schema\n  .status.d: expected map",
            {"a": True},
        ),
        (
            ".status.a: field not declared in schema .status.a.b: field not declared in schema",
            {"a": True},
        ),
        (".spec.later: field not declared in schema", {}),
        (".status.a: expected list, got &{map[]}", {}),
        ("", {}),
    ],
)
def test_what_a_refusal_says(refusal: str, found: dict[str, bool]) -> None:
    assert undeclared_in(LACKS + refusal) == found


def test_it_is_remembered_for_a_while_by_kind_and_namespace() -> None:
    known = UndeclaredFields()
    known.note("RayJob", "ml", ["a", "b"], now=5.0)
    known.note("RayJob", "ml", ["b"], now=6.0)
    assert known.of("RayJob", "ml", 6.0) == {"a", "b"}
    assert known.of("RayJob", "other", 6.0) == known.of("TrainJob", "ml", 6.0) == set()
    assert known.of("RayJob", "ml", 5.0 + ASK_AGAIN_SECONDS) == {"b"}
    assert known.of("RayJob", "ml", 6.0 + ASK_AGAIN_SECONDS) == set()


class Counted(Desk):
    """A desk that counts how often a status is sent."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cluster.prune("succeeded")  # the definition is KubeRay's then, without that field
        self.sent = 0

    def _maybe(self, resource: Resource, manifest: Manifest, **more: Any) -> Manifest:  # noqa: ANN401 as the port
        self.sent += 1
        return super()._maybe(resource, manifest, **more)

    def write(self, phase: str, **fields: object) -> int:
        """Have a status written; return in how many requests."""
        before = self.sent
        self.offer(a_status(phase, **fields))
        assert self.work() == [], "it was written"
        return self.sent - before


@pytest.mark.parametrize("fields", [LATER, COPIED])
def test_a_status_with_such_a_field_is_sent_once(fields: dict[str, object]) -> None:
    desk = Counted()
    assert desk.write("Initializing", **fields) == 2
    assert desk.write("Running", **fields) == 1
    assert desk.shown() == a_status("Running")
    desk.clock.advance(ASK_AGAIN_SECONDS)
    assert desk.write("Complete", **fields) == 2, "the definition may be another one by now"


def test_a_value_that_is_refused_says_nothing_of_the_next() -> None:
    desk = Counted()
    assert desk.write("Initializing", **WRONG) == 2
    taken = {"rayClusterStatus": {"desiredWorkerReplicas": 3}}
    assert desk.write("Running", **taken) == 1
    assert desk.shown() == a_status("Running", **taken)
