"""One sandbox per test process; per test a namespace, a ledger and a terminal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.sandbox.wiring import Sandbox, start_sandbox
from tests.acceptance.node import Node
from tests.acceptance.prepared_interpreter import PreparedInterpreter
from tests.acceptance.site import Site, namespace_of
from tests.acceptance.witness import Witness
from tests.support.processes import Terminal, place_of_bytecode, plain_environment


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """API, simulated controllers and node, shared by the tests of this process."""
    running = start_sandbox(tmp_path_factory.mktemp("sandbox"), "127.0.0.1", 0)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes keep their bytecode."""
    return place_of_bytecode(tmp_path_factory.mktemp("bytecode"))


@pytest.fixture(scope="session")
def prepared(
    bytecode: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PreparedInterpreter]:
    """Runs commands without the second that the imports take."""
    home = tmp_path_factory.mktemp("home")
    with PreparedInterpreter(plain_environment(home, bytecode)) as interpreter:
        yield interpreter


@pytest.fixture
def terminal(tmp_path: Path, bytecode: Path, prepared: PreparedInterpreter) -> Terminal:
    """A terminal with neither ledger nor API server."""
    return Terminal(tmp_path, plain_environment(tmp_path, bytecode), prepared)


@pytest.fixture
def site(sandbox: Sandbox, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """A namespace, an empty ledger and a terminal that knows both."""
    with namespace_of(sandbox) as api:
        yield Site(
            api=api,
            terminal=at_sandbox(terminal, sandbox, ledger_url),
            database_url=ledger_url,
            proxy_url=sandbox.data_plane.proxy_url,
            running_on=Node(sandbox.data_plane.agent, api),
        )


@pytest.fixture
def witness(site: Site) -> Iterator[Witness]:
    """Somebody who watches the namespace from the beginning."""
    with Witness(site.api) as watching:
        yield watching


def at_sandbox(terminal: Terminal, sandbox: Sandbox, database_url: str) -> Terminal:
    """Return the terminal as somebody has it who typed what `jobledger sandbox` says."""
    return terminal.with_environment(
        KUBECONFIG=str(sandbox.kubeconfig),
        HTTP_PROXY=sandbox.data_plane.proxy_url,
        NO_PROXY="127.0.0.1,localhost",
        DATABASE_URL=database_url,
        JOBLEDGER_DATA_DIR=str(terminal.directory / "data"),
    )
