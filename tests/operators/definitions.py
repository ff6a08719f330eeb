"""The definitions of RayJob: upstream's older and newest ones, with and without our patch."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.jobs import rayjob
from tests.acceptance.witness import RAYJOBS
from tests.operators.build import KUBERAY
from tests.support.api import JSON_PATCH, Api
from tests.support.apiserver_content import DEFINITIONS, definitions, parsed
from tests.support.waiting import wait_until

PATCH = Path(__file__).resolve().parents[2] / "ops" / "patches" / "rayjob-managed-by.yaml"
CRD = f"{DEFINITIONS}/rayjobs.ray.io"
NAMED = {"managedBy": "jobledger.dev/controller"}


@contextmanager
def managed_by_is_admitted(api: Api) -> Iterator[None]:
    """Patch the definition as adopt.md says; afterwards it is upstream's newest again."""
    patch = yaml.safe_load(PATCH.read_text(encoding="utf-8"))
    reply = api.request("PATCH", CRD, patch, content_type=JSON_PATCH)
    assert reply.code == 200, reply.message  # OK
    wait_until(lambda: _admits_the_name(api), "the definition admits the name")
    try:
        yield
    finally:
        newest(api)


@contextmanager
def as_upstream_released(api: Api) -> Iterator[None]:
    """Serve the definitions of the operator's own release; afterwards the newest again."""
    folder = KUBERAY.files() / "config" / "crd" / "bases"
    for name in ("rayclusters", "rayjobs"):
        (older,) = parsed((folder / f"ray.io_{name}.yaml").read_text(encoding="utf-8"))
        _put(api, older)
    try:
        yield
    finally:
        newest(api)


def newest(api: Api) -> None:
    """Serve upstream's newest definitions, unpatched; return once they are in force."""
    for definition in definitions():
        _put(api, definition)
    wait_until(lambda: not _admits_the_name(api), "the newest definitions are in force")


def _put(api: Api, definition: dict[str, Any]) -> None:
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"
    now = api.request("GET", path).body
    reply = api.request("PUT", path, {**now, "spec": definition["spec"]})
    assert reply.code == 200, reply.message  # OK


def _admits_the_name(api: Api) -> bool:
    return (
        api.create(RAYJOBS, rayjob("tried", "true", **NAMED), dryRun="All").code == 201
    )  # Created
