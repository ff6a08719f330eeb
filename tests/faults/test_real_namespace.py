"""A namespace is deleted under running jobs on a real API server, by its real controllers."""

from collections.abc import Iterator

import pytest

from tests.acceptance.jobs import rayjob, waiting_for
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.witness import LIMIT_SECONDS, Witness
from tests.faults.inside import inside
from tests.faults.retry_story import assert_nothing_broke
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]

MODES = {"queued": "HTTPMode", "submitted": "K8sJobMode"}


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """Stands in place of the sandbox's."""
    with real_site(api_server, terminal, ledger_url) as running:
        yield running


def test_a_namespace_that_is_deleted_under_running_jobs(
    site: Site, witness: Witness, api_server: ApiServer
) -> None:
    """Our finalizers come off, so it can go; the streams end, and nothing is tried for ever."""
    admin = api_server.api()
    path = f"/api/v1/namespaces/{site.api.namespace}"
    with inside(site) as controller:
        for name, mode in MODES.items():
            never = waiting_for(site.directory / "never")
            site.submit(rayjob(name, never, mode=mode, backoffLimit=2))
            witness.wait_for_status(name, jobStatus="RUNNING")
        assert admin.request("DELETE", path).code == 200
        ended = "SELECT count(*) = 2 FROM event WHERE type = 'JobDeleted'"
        site.wait_for_true("both streams end", ended)
        site.wait_for_true("nothing is left to do", "SELECT NOT bool_or(open) FROM job")
        wait_until(
            lambda: admin.request("GET", path).code == 404, "the namespace is gone", LIMIT_SECONDS
        )
        assert_nothing_broke(controller)
    assert site.rows("SELECT * FROM effect WHERE state = 'requested'") == []
    site.terminal.jobledger("verify")
    site.terminal.jobledger("rebuild", "--check")
    admin.pool.clear()
