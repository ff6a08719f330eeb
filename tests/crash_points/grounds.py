"""What a campaign stands on: a sandbox, a Postgres, the interpreter to fork, and the lanes."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.wiring import Sandbox, start_sandbox
from tests.acceptance.conftest import at_sandbox
from tests.acceptance.prepared_interpreter import PreparedInterpreter
from tests.acceptance.site import Site, namespace_of
from tests.crash_points.forks import Forks
from tests.crash_points.lane import Lane, open_lane
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import fresh_database, running_server
from tests.support.processes import Terminal, place_of_bytecode, plain_environment

LANES = 6
"""Controllers at once, by default: what is waited for most is other processes."""


@contextmanager
def grounds(lanes: int) -> Iterator[list[Lane]]:
    """Give so many lanes; nothing of them is left afterwards."""
    with ExitStack() as stack:
        directory = Path(tempfile.mkdtemp(prefix="jobledger-crash-points-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        server = stack.enter_context(running_server())
        template = stack.enter_context(fresh_database(server))
        upgrade(template)
        sandbox = start_sandbox(directory / "sandbox", "127.0.0.1", 0)
        stack.callback(sandbox.stop)
        environment = plain_environment(directory, place_of_bytecode(directory / "bytecode"))
        forks = stack.enter_context(Forks(environment))
        prepared = stack.enter_context(PreparedInterpreter(environment))
        ground = _Ground(directory, server, template.rsplit("/", 1)[1], sandbox, forks, prepared)
        yield [
            stack.enter_context(_lane(ground, directory / f"lane-{number}"))
            for number in range(lanes)
        ]


@dataclass(frozen=True)
class _Ground:
    """What all lanes share."""

    directory: Path
    server: EmbeddedPostgres
    template: str
    sandbox: Sandbox
    forks: Forks
    prepared: PreparedInterpreter


@contextmanager
def _lane(ground: _Ground, directory: Path) -> Iterator[Lane]:
    directory.mkdir()
    environment = plain_environment(directory, place_of_bytecode(ground.directory / "bytecode"))
    bare = Terminal(directory, environment, ground.prepared)
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(ground.server, ground.template))
        api = stack.enter_context(namespace_of(ground.sandbox))
        api.headers["Connection"] = "close"  # none idles until the server gives it up
        engine = stack.enter_context(app_engine(url))
        site = Site(
            api=api,
            terminal=at_sandbox(bare, ground.sandbox, url),
            database_url=url,
            proxy_url=ground.sandbox.data_plane.proxy_url,
        )
        yield stack.enter_context(open_lane(site, ground.forks, postgres_ledger(engine)))
