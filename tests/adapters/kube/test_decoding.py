"""What of an object's bytes is told."""

import json
from typing import Any

import pytest

from jobledger.adapters.kube.decoding import DEPTH_MAX, ObjectDecoder, read_object, read_page
from jobledger.adapters.kube.errors import UnreadableAnswer, read_status
from jobledger.core.ports.cluster import PODS, RAYJOBS, Resource
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


def nested(levels: int, key: str = "f:data") -> Any:  # noqa: ANN401 any JSON
    """Return objects in each other."""
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {key: found}
    return found


def deep(name: str, levels: int) -> bytes:
    """Return an object, as an API server sends it, with managedFields that somebody has nested."""
    whole = rayjob(name, 1, managedFields=[{"manager": "x", "fieldsV1": {}}])
    inner = b'{"f:data":' * levels + b"{}" + b"}" * levels
    return json.dumps(whole).encode().replace(b'"fieldsV1": {}', b'"fieldsV1": ' + inner)


@pytest.mark.parametrize("levels", [DEPTH_MAX, 1500, 9990])
@pytest.mark.parametrize("resource", [PODS, RAYJOBS])
def test_an_object_that_is_nested_deeply_is_read_as_any_other(
    levels: int, resource: Resource
) -> None:
    """Whoever may write one blinded its watch for all: no list with it could be read."""
    raw, decoder = deep("a", levels), ObjectDecoder(resource)
    line = b'{"type":"ADDED","object":' + raw + b"}"
    page = read_page("a list", b'{"metadata":{},"items":[' + raw + b"," + deep("b", 1) + b"]}")
    found = [decoder.object("a list", one) for one in page.items or ()]
    assert [child(one, "metadata")["name"] for one in found] == ["a", "b"]
    assert (
        decoder.line("a watch", line).object["spec"] == found[0]["spec"] == rayjob("a", 1)["spec"]
    )
    assert read_object("an answer", raw)["spec"] == found[0]["spec"]


@pytest.mark.parametrize("opening", ["{", "["])
def test_what_lies_too_deep_is_empty_and_all_beside_it_is_there(opening: str) -> None:
    within = '{"a":' if opening == "{" else "["
    closing = {"{": "}", "[": "]"}[opening]
    depth = DEPTH_MAX + 3
    text = f'{{"x":{within * depth}7{closing * depth},"y":"{opening * 900}\\"","z":[1]}}'
    found: Any = read_object("an answer", text.encode())
    assert (found["y"], found["z"]) == (opening * 900 + '"', [1])
    here, levels = found["x"], 1
    while here:
        here, levels = here["a"] if opening == "{" else here[0], levels + 1
    assert (here, levels) == ({} if opening == "{" else [], DEPTH_MAX)


def test_what_is_not_so_deep_stays_as_it_is() -> None:
    wide = {"a": [nested(DEPTH_MAX - 3)] * 9, "b": '"{[' * 999}
    assert read_object("an answer", json.dumps(wide).encode()) == wide


def test_a_status_that_is_nested_deeply_is_none() -> None:
    assert read_status(b'{"kind":"Status","x":' + b"[" * 9000 + b"]" * 9000 + b"}") is None


def test_what_breaks_off_is_looked_through_once() -> None:
    """A body that was cut may end in a string, which may be full of quotes that do not end it."""
    deep = b'{"a":' * 1_200 + b"1" + b"}" * 1_200
    for end in (b"", b"\\"):
        cut = b'{"metadata":{},"items":[' + deep + b',{"message":"' + b'\\u0001\\"' * 20_000 + end
        with pytest.raises(UnreadableAnswer):
            read_page("events", cut)
    with pytest.raises(UnreadableAnswer):
        read_object("an event", deep[:-1] + b',"m":"' + b'\\u0001\\"' * 20_000)
