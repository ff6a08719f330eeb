"""What of an object's bytes is told."""

import json
from typing import Any

import pytest

from jobledger.adapters.kube.decoding import ObjectDecoder
from jobledger.adapters.kube.errors import UnreadableAnswer
from jobledger.core.ports.cluster import PODS, RAYJOBS
from jobledger.core.values.documents import child, items
from tests.adapters.kube.samples import rayjob
from tests.support.canned_server import watch_line


def test_managed_fields_are_left_out_and_annotations_are_kept() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    whole = rayjob("a", 1, annotations=annotations, managedFields=[{"manager": "kubectl"}])
    kept = rayjob("a", 1, annotations=annotations)
    decoder = ObjectDecoder(RAYJOBS)
    assert decoder.line("a watch", watch_line("ADDED", whole)).object == kept
    assert decoder.object("a list", json.dumps(whole).encode()) == kept


def test_of_a_job_it_is_kept_who_wrote_which_field_of_its_status() -> None:
    written = {
        "manager": "ray-operator",
        "operation": "Update",
        "subresource": "status",
        "time": "2026-11-22T03:00:05Z",
        "fieldsV1": {"f:status": {"f:failed": {}, "f:rayClusterStatus": {"f:state": {}}}},
    }
    strange: list[Any] = [None, {"fieldsV1": 7}, {"fieldsV1": {"f:status": []}}]
    whole = rayjob("a", 1, managedFields=[{"fieldsV1": {"f:spec": {}}}, *strange, written])
    found = ObjectDecoder(RAYJOBS).object("a list", json.dumps(whole).encode())
    (kept,) = items(found, "metadata", "managedFields")
    assert kept == {
        "manager": "ray-operator",
        "subresource": "status",
        "time": "2026-11-22T03:00:05Z",
        "fieldsV1": {"f:status": {"f:failed": None, "f:rayClusterStatus": None}},
    }
    other = ObjectDecoder(PODS).object("a list", json.dumps(whole).encode())
    assert "managedFields" not in child(other, "metadata")


def test_an_item_of_a_list_of_a_built_in_kind_gets_its_kind() -> None:
    found = ObjectDecoder(PODS).object("a list", b'{"metadata":{"name":"p"}}')
    assert found == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


@pytest.mark.parametrize(
    "line",
    [
        b"<html>",
        b"[]",
        b'{"type":"ADDED"}',
        b'{"object":{}}',
        b'{"type":"ADDED","object":[]}',
        b'{"type":"ADDED","object":{"a":"\xff"}}',
        b'{"type":"ADDED","object":' + b"[" * 100_000,
    ],
)
def test_what_is_no_event_is_an_error_of_ours(line: bytes) -> None:
    with pytest.raises(UnreadableAnswer, match="a watch: the answer cannot be read"):
        ObjectDecoder(RAYJOBS).line("a watch", line)
