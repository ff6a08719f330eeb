"""A CustomResourceDefinition that somebody creates becomes a kind like any other."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from jobledger.sandbox.admission.definitions import bundled_definitions
from tests.support.api import Api, rayjob
from tests.support.upstream_data import CRDS as CRD_FILES
from tests.support.upstream_data import SAMPLES

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wd"]},
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == "v2",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "default": 3}},
                            }
                        },
                    }
                },
            }
            for version in ("v2", "v1")
        ],
    },
}


def _define(api: Api) -> None:
    reply = api.request("POST", CRDS, WIDGETS)
    assert reply.code == 201
    conditions = {c["type"]: c["status"] for c in reply.body["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_its_objects_are_served_defaulted_and_pruned(api: Api) -> None:
    _define(api)
    widget = {"metadata": {"name": "w"}, "spec": {"colour": "red"}, "status": {"x": 1}}
    body = api.create("example.com/v1/widgets", widget).body
    assert (body["apiVersion"], body["kind"]) == ("example.com/v1", "Widget")
    assert body["spec"] == {"size": 3}
    assert "status" not in body
    names = [
        entry["name"] for entry in api.request("GET", "/apis/example.com/v2").body["resources"]
    ]
    assert names == ["widgets"]


def test_one_object_is_seen_in_all_its_versions(api: Api) -> None:
    _define(api)
    api.create("example.com/v1/widgets", {"metadata": {"name": "w"}, "spec": {}})
    body = api.get("example.com/v2/widgets", "w").body
    assert (body["apiVersion"], body["spec"]) == ("example.com/v2", {"size": 3})
    listed = api.list("example.com/v1/widgets").body
    assert [item["apiVersion"] for item in listed["items"]] == ["example.com/v1"]


def test_its_objects_go_with_it(api: Api) -> None:
    _define(api)
    api.create("example.com/v1/widgets", {"metadata": {"name": "w"}})
    revision = api.list("example.com/v1/widgets").revision
    with api.watch("example.com/v1/widgets", resourceVersion=revision) as events:
        assert api.request("DELETE", f"{CRDS}/widgets.example.com").code == 200
        assert next(events)["type"] == "DELETED"
    assert api.list("example.com/v1/widgets").code == 404


def test_a_definition_whose_name_does_not_fit_is_422(api: Api) -> None:
    wrong = WIDGETS | {"metadata": {"name": "gadgets.example.com"}}
    reply = api.request("POST", CRDS, wrong)
    assert (reply.code, list(reply.causes)) == (422, ["metadata.name"])


def _load(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    return loaded


def _stored(definition: dict[str, Any]) -> dict[str, Any]:
    return next(version for version in definition["spec"]["versions"] if version["storage"])


def _fields(schema: dict[str, Any], path: str = "") -> dict[str, dict[str, Any]]:
    """Return every field of a schema by path: what it says of the field itself."""
    said = {
        key: value
        for key, value in schema.items()
        if key not in ("description", "properties", "items", "additionalProperties")
    }
    rules = said.get("x-kubernetes-validations")
    if rules:
        said["x-kubernetes-validations"] = [(rule["rule"], rule["message"]) for rule in rules]
    said["required"] = sorted(said.get("required") or ())
    found = {path: said}
    for name, inner in (schema.get("properties") or {}).items():
        found |= _fields(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found |= _fields(schema[key], f"{path}[{key}]")
    return found


OPEN = "x-kubernetes-preserve-unknown-fields"

WITH_AN_UPSTREAM = [
    one for one in bundled_definitions() if one["spec"]["group"] != "scheduling.x-k8s.io"
]
"""The scheduler plugin's definition is not among upstream's data."""


@pytest.mark.parametrize("definition", WITH_AN_UPSTREAM, ids=lambda d: d["metadata"]["name"])
def test_our_definitions_say_what_upstream_says_of_every_field(definition: dict[str, Any]) -> None:
    """Same fields, types, defaults, enumerations, bounds, rules; templates are left open."""
    file = f"{definition['spec']['group']}_{definition['spec']['names']['plural']}.yaml"
    theirs_whole = _load(CRD_FILES / file)
    ours = _fields(_stored(definition)["schema"]["openAPIV3Schema"])
    theirs = _fields(_stored(theirs_whole)["schema"]["openAPIV3Schema"])
    open_fields = [path for path, said in ours.items() if said.get(OPEN)]
    covered = tuple(f"{path}{end}" for path in open_fields for end in (".", "["))
    for path in open_fields:
        assert ours[path]["type"] == theirs[path]["type"] == "object"
    assert _whole(ours, open_fields, covered) == _whole(theirs, open_fields, covered)
    inside = {path: said for path, said in ours.items() if path.startswith(covered)}
    closed = {path: said for path, said in inside.items() if path not in open_fields}
    assert closed == {path: theirs.get(path) for path in closed}, "what we say of templates"
    assert definition["spec"]["names"] == theirs_whole["spec"]["names"]
    assert _columns(definition) == _columns(theirs_whole)
    assert _stored(definition).get("subresources") == _stored(theirs_whole).get("subresources")


def _columns(definition: dict[str, Any]) -> list[dict[str, Any]]:
    columns = _stored(definition).get("additionalPrinterColumns") or []
    return [{key: value for key, value in one.items() if key != "description"} for one in columns]


def _whole(
    fields: dict[str, dict[str, Any]], open_fields: list[str], covered: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    return {
        path: said
        for path, said in fields.items()
        if path not in open_fields and not path.startswith(covered)
    }


def test_upstreams_definitions_can_take_the_place_of_ours(api: Api) -> None:
    for plural in ("rayjobs", "rayclusters"):
        theirs = _load(CRD_FILES / f"ray.io_{plural}.yaml")
        path = f"{CRDS}/{theirs['metadata']['name']}"
        theirs["metadata"]["resourceVersion"] = api.request("GET", path).revision
        assert api.request("PUT", path, theirs).code == 200
    assert api.create("ray.io/v1/rayjobs", rayjob("a")).code == 201
    listed = api.list("ray.io/v1alpha1/rayjobs").body
    assert [item["apiVersion"] for item in listed["items"]] == ["ray.io/v1alpha1"]


def test_upstreams_samples_are_accepted_without_a_warning(api: Api) -> None:
    served = {"RayJob": "ray.io/v1/rayjobs", "ConfigMap": "v1/configmaps"}
    served |= {"RayCluster": "ray.io/v1/rayclusters"}
    count = 0
    for file in sorted(SAMPLES.glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if document and document["kind"] in served:
                document["metadata"].setdefault("generateName", "sample-")
                reply = api.create(served[document["kind"]], document, dryRun="All")
                assert (reply.code, reply.headers.get("warning")) == (201, None), file.name
                count += 1
    assert count >= 12
