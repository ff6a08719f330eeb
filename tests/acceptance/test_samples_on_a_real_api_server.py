"""Every sample RayJob of KubeRay goes its whole way on a real API server, with upstream's CRDs.

One site and one controller for all of them, one after the other: each begins in a namespace in
which nothing is left of the one before.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.acceptance.prepared_interpreter import PreparedInterpreter
from tests.acceptance.real_site import leave_nothing, real_site
from tests.acceptance.samples import ONLY_RAYJOBS, drive
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.rules.rayjob.upstream import sample_names
from tests.support.api import Api
from tests.support.apiserver import ApiServer
from tests.support.postgres import fresh_database
from tests.support.processes import LOG_SHOWN_CHARACTERS, Controller, Terminal, plain_environment

pytestmark = [pytest.mark.apiserver, pytest.mark.postgres]


@dataclass(frozen=True, slots=True)
class Stage:
    """What all samples share."""

    site: Site
    controller: Controller


@pytest.fixture(scope="module")
def stage(
    api_server: ApiServer,
    postgres_server: EmbeddedPostgres,
    ledger_template: str,
    prepared: PreparedInterpreter,
    bytecode: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stage]:
    """Give a namespace with a controller; the user may create what the samples bring along."""
    admin, directory = api_server.api(), tmp_path_factory.mktemp("samples")
    terminal = Terminal(directory, plain_environment(directory, bytecode), prepared)
    with (
        fresh_database(postgres_server, ledger_template) as ledger_url,
        real_site(api_server, terminal, ledger_url) as running,
        running.controller(**ONLY_RAYJOBS) as controller,
    ):
        api = Api(admin.url, admin.pool, running.api.namespace, admin.headers)
        yield Stage(replace(running, api=api), controller)
    admin.pool.clear()


@pytest.fixture
def site(stage: Stage) -> Iterator[Site]:
    """Stands in place of the sandbox's; nothing is left in it afterwards."""
    yield stage.site
    leave_nothing(stage.site.api)


@contextmanager
def explained_by(controller: Controller) -> Iterator[None]:
    """Put the end of the controller's log beside a failure."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"log of the controller:\n{controller.log[-LOG_SHOWN_CHARACTERS:]}")
        raise


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_of_upstream_goes_its_whole_way(
    stage: Stage, site: Site, witness: Witness, name: str
) -> None:
    with explained_by(stage.controller):
        drive(site, witness, name)
