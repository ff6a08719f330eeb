"""In recorder mode no bug can make the client write: nothing is even sent."""

import inspect
from typing import Any, cast

import pytest

from jobledger.adapters.kube.read_only import ReadOnlyCluster
from jobledger.adapters.kube.transport import Transport
from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import RAYJOBS, Cluster, Resource

READS = {"each", "get", "list"}
"""What the port offers that changes nothing."""


class _Sends:
    """Whatever is sent fails the test."""

    def send(self, request: object, **_: object) -> bytes:
        raise AssertionError(request)


def read_only() -> ReadOnlyCluster:
    return ReadOnlyCluster(cast("Transport", _Sends()))


def writes() -> list[str]:
    methods = [name for name, _ in inspect.getmembers(Cluster, inspect.isfunction)]
    return [name for name in methods if not name.startswith("_") and name not in READS]


@pytest.mark.parametrize("name", writes())
def test_no_write_of_the_port_is_sent(name: str) -> None:
    arguments: tuple[Any, ...] = {
        "create": (RAYJOBS, {}),
        "replace": (RAYJOBS, {}),
        "merge_patch": (RAYJOBS, "ml", "train", {}),
        "apply": (RAYJOBS, {}),
        "delete": (RAYJOBS, "ml", "train"),
    }[name]
    named = {"field_manager": "us"} if name == "apply" else {}
    with pytest.raises(RequestForbidden, match="only records"):
        getattr(read_only(), name)(*arguments, **named)


def test_a_question_may_be_asked() -> None:
    review = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
    with pytest.raises(AssertionError):  # it was sent
        read_only().create(review, {"metadata": {}})
