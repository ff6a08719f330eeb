"""The five ways in which an object is not a job's own, as owner references."""

from collections.abc import Mapping
from typing import Any

from jobledger.core.values.documents import Manifest, text
from tests.support.api import Api

UNSERVED = "v0"
"""A version that the API server does not serve: the garbage collector cannot look such an owner
up, so it leaves what the owner has left behind."""

WHOSE: Mapping[str, str] = {
    "nobody owns it": "nobody owns it",
    "an earlier job of the same name controls it": "it belongs to another",
    "a controller of another kind controls it": "it belongs to ConfigMap boss",
    "its owner reference to the job is forged, without controller": "nobody owns it",
}
"""Case -> what is said of the object."""


def owners_of(case: str, api: Api, job: Manifest) -> list[dict[str, Any]]:
    """Return the owner references of an object that is not a job's own."""
    kind, name, uid = text(job, "kind"), text(job, "metadata", "name"), text(job, "metadata", "uid")
    group = text(job, "apiVersion").partition("/")[0]
    own = {"apiVersion": text(job, "apiVersion"), "kind": kind, "name": name, "uid": uid}
    if case == "an earlier job of the same name controls it":
        earlier = "00000000-0000-4000-8000-000000000000"
        return [own | {"apiVersion": f"{group}/{UNSERVED}", "uid": earlier, "controller": True}]
    if case == "a controller of another kind controls it":
        boss = api.create("v1/configmaps", {"metadata": {"name": "boss"}}).body
        uid = boss["metadata"]["uid"]
        head = {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss"}
        return [{**head, "uid": uid, "controller": True}]
    return [own] if case.startswith("its owner reference") else []
