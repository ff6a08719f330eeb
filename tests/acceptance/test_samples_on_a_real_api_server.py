"""Every sample RayJob of KubeRay goes its whole way on a real API server, with upstream's CRDs."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.acceptance.real_site import real_site
from tests.acceptance.samples import drive
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.rules.rayjob.upstream import sample_names
from tests.support.api import Api
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """Stands in place of the sandbox's; the user may create what the samples bring along."""
    admin = api_server.api()
    with real_site(api_server, terminal, ledger_url) as running:
        api = Api(admin.url, admin.pool, running.api.namespace, admin.headers)
        yield replace(running, api=api)
    admin.pool.clear()


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_of_upstream_goes_its_whole_way(site: Site, witness: Witness, name: str) -> None:
    drive(site, witness, name)
