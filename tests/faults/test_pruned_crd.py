"""A RayJob CRD of an older KubeRay drops fields: they count as absent, and nothing goes round.

Source: RayJob got backoffLimit, failed and succeeded in KubeRay 1.2.
"""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from jobledger.sandbox.admission.definitions import bundled_definitions
from jobledger.sandbox.model.documents import Document
from jobledger.sandbox.wiring import Sandbox, start_sandbox
from tests.acceptance.jobs import counting, rayjob, runs
from tests.acceptance.site import Site
from tests.acceptance.witness import RAYJOBS, Witness
from tests.faults.inside import inside
from tests.faults.lines import WRITING, Lines
from tests.faults.notary import Notary
from tests.faults.retry_story import RetryStory, assert_nothing_broke

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

UNKNOWN = {"spec": ("backoffLimit",), "status": ("failed", "succeeded")}


def older_definitions() -> list[Document]:
    """Return our definitions without what the older CRD does not know."""
    definitions = bundled_definitions()
    for definition in definitions:
        if definition["spec"]["names"]["kind"] != "RayJob":
            continue
        for version in definition["spec"]["versions"]:
            properties = version["schema"]["openAPIV3Schema"]["properties"]
            for part, names in UNKNOWN.items():
                for name in names:
                    properties[part]["properties"].pop(name, None)
    return definitions


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox that serves the older CRD."""
    with patch("jobledger.sandbox.http.application.bundled_definitions", older_definitions):
        running = start_sandbox(tmp_path / "sandbox", "127.0.0.1", 0)
    yield running
    running.stop()


def status_writes(lines: Lines, name: str) -> int:
    return len(lines.api.requests("PATCH", f"/rayjobs/{name}/status"))


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode"])
def test_fields_that_an_older_crd_drops(
    remote: Site, site: Site, lines: Lines, witness: Witness, notary: Notary, mode: str
) -> None:
    counter = site.directory / "counter"
    with inside(remote) as controller:
        made = site.submit(rayjob("bad", counting(counter, fails=9), mode=mode, backoffLimit=3))
        assert "backoffLimit" not in made["spec"]
        status = witness.wait_for_phase("bad", "Failed")
        assert status.keys().isdisjoint(UNKNOWN["status"])
        assert runs(counter) == 1
        assert_written_once_each(lines, witness, "bad")
        writes = status_writes(lines, "bad")
        site.api.merge(RAYJOBS, "bad", {"metadata": {"labels": {"seen": "again"}}})
        site.submit(rayjob("good", "true", mode=mode, shutdownAfterJobFinishes=True))
        witness.wait_for_phase("good", "Complete")
        assert_written_once_each(lines, witness, "good")
        assert status_writes(lines, "bad") == writes
        assert_nothing_broke(controller)
    with inside(remote) as controller:
        site.submit(rayjob("later", "true", mode=mode, shutdownAfterJobFinishes=True))
        witness.wait_for_phase("later", "Complete")
        again = status_writes(lines, "bad") - writes
        assert again <= 1, "after a start nobody knows what the API server keeps"
        closed = "SELECT count(*) = 2 FROM job WHERE NOT open AND name IN ('good', 'later')"
        site.wait_for_true("both have been shut down", closed)
        assert_nothing_broke(controller)
    (row,) = site.rows("SELECT phase, failed, succeeded, retries FROM job WHERE name = 'bad'")
    assert row == {"phase": "Failed", "failed": 1, "succeeded": 0, "retries": 0}
    assert lines.api.requests(*WRITING["status"])
    RetryStory(site, witness, notary).assert_log()


def assert_written_once_each(lines: Lines, witness: Witness, name: str) -> None:
    """No write left the object as it was."""
    shown: list[object] = []
    for told in witness.told(RAYJOBS, name):
        status = told.document.get("status", {})
        if not shown or shown[-1] != status:
            shown.append(status)
    assert status_writes(lines, name) <= len(shown), shown
