"""What the API server says about itself: versions, groups, resources."""

from typing import Final

from jobledger.sandbox.model.documents import Document
from jobledger.sandbox.model.kinds import Kind, Kinds
from jobledger.sandbox.model.targets import subresources

VERSION: Final = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.0+jobledger-sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "python",
}
"""The version whose behaviour is imitated; the suffix says that this is no real server."""

_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
_SUBRESOURCE_VERBS: Final = {"status": ["get", "patch", "update"], "log": ["get"]}


def discovery(path: str, kinds: Kinds) -> Document | None:
    """Return the discovery document at a path, or None if it is no such path."""
    steps = path.strip("/").split("/")
    match steps:
        case ["version"]:
            return dict(VERSION)
        case ["api"]:
            return {
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
            }
        case ["api", version]:
            return _resources("", version, kinds)
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in kinds.groups().items()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            versions = kinds.groups().get(group)
            if not versions:
                return None
            return {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, versions)
        case ["apis", group, version]:
            return _resources(group, version, kinds)
        case _:
            return None


def _group(name: str, versions: list[str]) -> Document:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(group: str, version: str, kinds: Kinds) -> Document | None:
    found = kinds.in_version(group, version)
    if not found:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": [entry for kind in found for entry in _entries(kind)],
    }


def _entries(kind: Kind) -> list[Document]:
    main: Document = {
        "name": kind.plural,
        "singularName": kind.one,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(_VERBS),
    }
    if kind.short_names:
        main["shortNames"] = list(kind.short_names)
    if kind.categories:
        main["categories"] = list(kind.categories)
    parts = [
        {
            "name": f"{kind.plural}/{part}",
            "singularName": "",
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": _SUBRESOURCE_VERBS.get(part, ["create"]),
        }
        for part in subresources(kind)
    ]
    return [main, *parts]
