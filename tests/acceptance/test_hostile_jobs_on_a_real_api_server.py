"""A tenant with the least rights writes what may do harm, into many jobs of both kinds.

On a real API server, with the whole service as a process. Each job concerns itself alone: it is
refused by the API server, is not valid in so many words, or goes on; the neighbour's goes on, and
what is told of all of them is whole.
"""

from collections.abc import Iterator

import pytest

from tests.acceptance.hostile_jobs import hostile_jobs
from tests.acceptance.site import Site
from tests.acceptance.tenant_site import tenant_site
from tests.acceptance.witness import RAYJOBS
from tests.support.api import rayjob
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.faults,
    pytest.mark.apiserver,
    pytest.mark.postgres,
    pytest.mark.timeout(900),
]

ANSWERED_SECONDS = 240.0
"""Limit until every job has a status; a busy machine takes a minute."""
EVENTS_MAX = 60
"""Of any of these jobs: no loop is among them."""
REFUSED = (400, 413, 422)
CLASSES = ("Error)", "Exception)", "Traceback")


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    with tenant_site(api_server, terminal, ledger_url) as made:
        yield made


def test_hostile_jobs_harm_nobody_but_themselves(site: Site) -> None:
    with site.controller() as controller:
        made = []
        for resource, manifest in hostile_jobs():
            reply = site.api.create(resource, manifest)
            assert reply.code in (201, *REFUSED), reply  # Created
            if reply.code == 201:  # Created
                made.append((resource, manifest["metadata"]["name"]))
        assert len(made) > 40
        site.submit(rayjob("neighbour"))
        made.append((RAYJOBS, "neighbour"))
        waiting = list(made)
        statuses: dict[str, dict[str, object]] = {}

        def answered() -> bool:
            """Ask of each until it has one: their annotations are as long as may be."""
            while waiting and (status := site.api.get(*waiting[-1]).body.get("status")):
                statuses[waiting.pop()[1]] = status
            return not waiting

        wait_until(answered, "every job has a status", ANSWERED_SECONDS)
        neighbour = site.api.get(RAYJOBS, "neighbour").body["status"]
        assert neighbour["jobDeploymentStatus"] == "Initializing"
        told = [text for status in statuses.values() for text in messages(status)]
        assert not [text for text in told if any(word in text for word in CLASSES)]
        assert controller.metric("jobledger_poisoned_observations_total") == 0
        assert controller.get("/healthz")[0] == 200
        assert controller.get("/readyz")[0] == 200
        assert "Traceback" not in controller.log
        for resource, name in made:
            assert site.api.delete(resource, name).code in (200, 202)  # OK, Accepted
        site.submit(rayjob("later"))
        site.wait_for_true(
            "a later job is driven, whatever was deleted",
            "SELECT EXISTS (SELECT FROM event e JOIN job j USING (stream_id)"
            " WHERE j.name = 'later' AND e.type = 'StatusPublished')",
        )
    most = "SELECT max(n) FROM (SELECT count(*) AS n FROM event GROUP BY stream_id) AS counted"
    assert site.value(most) < EVENTS_MAX
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")
    site.terminal.jobledger("get", "--limit", "500")
    for name in [name for _, name in made][::15]:
        for command in ("explain", "history"):
            ended = site.terminal.jobledger(command, name, code=None)
            assert "Traceback" not in ended.everything
            assert ended.code in (0, 2), ended  # 2: a name that a job of each kind has


def messages(status: dict[str, object]) -> Iterator[str]:
    """Yield what a status says in words."""
    yield str(status.get("message", ""))
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        yield str(condition.get("message", ""))
