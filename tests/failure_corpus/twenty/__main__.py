"""Prepares a ledger with twenty failed jobs: `make failures`, or `python -m …twenty [DIRECTORY]`.

`--page` writes what `explain` prints of them into the docs instead.
"""

import shutil
import sys
from pathlib import Path

from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import temporary_directory
from tests.failure_corpus.twenty.filling import fill
from tests.failure_corpus.twenty.page import PAGE, page, typed

PREFIX = "jobledger-failures-"

NEXT = """\
Twenty failed jobs of all kinds are in a private ledger in {directory}. To ask why:

  export JOBLEDGER_DATA_DIR={directory} PATH={programs}:$PATH
  jobledger get

What it prints says how to go on. The answers stand in docs/tutorial/twenty-failures.md.
"""


def main() -> int:
    """Prepare, and say how to go on; or write the page."""
    if "--page" in sys.argv[1:]:
        made = temporary_directory(PREFIX)
        try:
            prepare(made)
            places = {"JOBLEDGER_DATA_DIR": str(made), "XDG_STATE_HOME": str(made / "state")}
            PAGE.write_text(page(typed(places)))
        finally:
            shutil.rmtree(made)
        return 0
    given = [Path(word) for word in sys.argv[1:]]
    directory = given[0] if given else temporary_directory(PREFIX)
    prepare(directory.absolute())
    programs = Path(sys.executable).parent
    sys.stdout.write(NEXT.format(directory=directory.absolute(), programs=programs))
    return 0


def prepare(directory: Path) -> None:
    """Make a private ledger in a directory, and fill it. It has to be empty before."""
    with EmbeddedPostgres(directory / "postgres") as server:
        upgrade(server.url)
        engine = open_engine(server.url, EngineOptions(role=APP_ROLE))
        try:
            fill(engine)
        finally:
            engine.dispose()


if __name__ == "__main__":
    sys.exit(main())
