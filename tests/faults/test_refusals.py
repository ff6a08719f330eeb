"""Quotas, missing permissions and a namespace that goes: refused is not broken."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest

from jobledger.adapters.kube import answering
from jobledger.adapters.service.status import unwritten
from jobledger.sandbox.wiring import Sandbox
from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.site import Site, namespace_of
from tests.acceptance.witness import RAYJOBS, Witness
from tests.faults.inside import inside
from tests.faults.lines import WRITING, Lines
from tests.faults.notary import effect_of
from tests.faults.retry_story import RetryStory, assert_nothing_broke
from tests.support.api import Api
from tests.support.http_fault_proxy import Made
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

REVOKED = Made(401, "Unauthorized")
UNREADY_SECONDS = 60.0
"""The clocks are compared every ten seconds; else a quiet service may ask for nothing."""

QUOTA = Made(
    403,
    "Forbidden",
    'rayclusters.ray.io "x" is forbidden: exceeded quota: compute, requested: '
    "count/rayclusters.ray.io=1, used: count/rayclusters.ray.io=1, limited: "
    "count/rayclusters.ray.io=1",
)
NO_PERMISSION = Made(
    403, "Forbidden", 'User "jobledger" cannot patch resource "rayjobs/status" in API group'
)


def test_a_quota_that_is_full_for_a_while_is_asked_again(
    remote: Site, site: Site, lines: Lines, story: RetryStory
) -> None:
    lines.api.answer("POST", "/rayclusters", QUOTA, times=3)
    with inside(remote, JOBLEDGER_EFFECT_RETRY_SECONDS="1") as controller:
        story.submit()
        story.assert_same_end()
        assert lines.api.unused() == []
        assert_nothing_broke(controller)
    refused = site.rows("SELECT data->>'trouble' AS why FROM event WHERE type = 'EffectFailed'")
    assert len(refused) == 3
    assert all("exceeded quota: compute" in row["why"] for row in refused)


def test_statuses_that_may_not_be_written_hold_up_nothing_else_and_are_told(
    remote: Site, site: Site, lines: Lines, story: RetryStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unwritten, "TOLD_AFTER", timedelta(seconds=1))
    lines.api.answer(*WRITING["status"], NO_PERMISSION, times=10_000)
    with inside(remote) as controller:
        story.submit()
        site.wait_for_true("the work is done", "SELECT count(*) = 2 FROM job WHERE NOT open")
        assert {name: story.witness.status(name) for name in story.names} == {
            "lucky": {},
            "direct": {},
        }
        tries = len(lines.api.requests(*WRITING["status"]))
        assert tries <= 2 * 8, "the pauses between tries double"
        told = "SELECT count(*) = 2 FROM event WHERE type = 'StatusWriteFailed'"
        site.wait_for_true("both are told", told)
        for name in story.names:
            assert "Its status cannot be written since" in explained(site, name)
            assert 'cannot patch resource "rayjobs/status"' in explained(site, name)
            wait_until(partial(is_warned, site, name), f"a Kubernetes Event of {name}")
        lines.api.clear()
        story.assert_same_end()
        assert not any("cannot be written" in explained(site, name) for name in story.names)
        assert_nothing_broke(controller)


def explained(site: Site, name: str) -> str:
    return site.terminal.jobledger("explain", name).everything


def is_warned(site: Site, name: str) -> bool:
    items = site.api.list("v1/events").body["items"]
    warned = {one["involvedObject"]["name"] for one in items if one["reason"] == "StatusNotWritten"}
    return name in warned


def test_credentials_that_are_revoked_under_a_running_service(
    remote: Site, lines: Lines, story: RetryStory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watches that are open go on; all else is refused, which has to be said, and got over."""
    monkeypatch.setattr(answering, "UNANSWERED_SECONDS", 1.0)
    with inside(remote) as controller:
        pods = ("GET", r"/pods\?.*watch=true")
        wait_until(lambda: bool(lines.api.requests(*pods)), "all is watched", UNREADY_SECONDS)
        lines.api.answer("GET|POST|PUT|PATCH|DELETE", "", REVOKED, times=100_000)
        wait_until(lambda: controller.get("/readyz")[0] == 503, "it is not ready", UNREADY_SECONDS)
        told = json.loads(controller.get("/readyz")[1])
        assert told["waits_for"] == ["the API server is not available"]
        assert all("401 Unauthorized" in error for error in told["errors"])
        assert controller.metric("jobledger_api_server_up") == 0
        wait_until(
            lambda: "api_server_unavailable" in controller.log, "it is told", UNREADY_SECONDS
        )
        lines.api.clear()
        story.submit()
        story.assert_same_end()
        assert controller.get("/readyz")[0] == 200
        assert controller.metric("jobledger_api_server_up") == 1
        assert_nothing_broke(controller)


@pytest.fixture
def elsewhere(sandbox: Sandbox) -> Iterator[Api]:
    """Another namespace, which stays."""
    with namespace_of(sandbox) as api:
        yield api


def test_a_namespace_that_is_deleted_under_a_running_job(
    remote: Site, site: Site, lines: Lines, story: RetryStory, elsewhere: Api
) -> None:
    """Its stream ends, nothing is tried for ever, and jobs elsewhere go on."""
    both = json.dumps([site.api.namespace, elsewhere.namespace])
    gate = site.directory / "gate"
    with inside(remote, JOBLEDGER_NAMESPACES=both) as controller, Witness(elsewhere) as other:
        for name, mode in (("queued", "HTTPMode"), ("submitted", "K8sJobMode")):
            site.submit(rayjob(name, waiting_for(gate), mode=mode, backoffLimit=2))
            story.witness.wait_for_status(name, jobStatus="RUNNING")
        gone = site.api.request("DELETE", f"/api/v1/namespaces/{site.api.namespace}")
        assert gone.code == 200, gone
        ended = "SELECT count(*) = 2 FROM event WHERE type = 'JobDeleted'"
        site.wait_for_true("both streams end", ended)
        tried = effects_in(lines, site.api)
        elsewhere.create(RAYJOBS, rayjob("calm", "true", shutdownAfterJobFinishes=True))
        other.wait_for_phase("calm", "Complete")
        site.wait_for_true("nothing is left to do", "SELECT NOT bool_or(open) FROM job")
        assert effects_in(lines, site.api) == tried
        assert_nothing_broke(controller)
    story.assert_log()


def effects_in(lines: Lines, api: Api) -> list[str]:
    """Return the effects in a namespace, as requests."""
    return [
        f"{request.method} {request.target}"
        for request in lines.api.requests(pattern=f"/{api.namespace}/")
        if effect_of(request) is not None
    ]
