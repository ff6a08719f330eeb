"""Upgrade and rollback with an earlier program: `python -m tests.upgrade [COMMIT]`; two minutes.

Needs git and the history of the repository. Without a commit: the newest that has another schema.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path

import structlog

from jobledger.sandbox.wiring import start_sandbox
from tests.acceptance.conftest import at_sandbox
from tests.acceptance.site import Site, namespace_of
from tests.support.postgres import fresh_database, running_server
from tests.support.processes import Terminal, plain_environment
from tests.upgrade.earlier import build, previous_commit
from tests.upgrade.story import Story, tell


def main() -> int:
    """Tell the story once; it raises where it ends otherwise than it should."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    begun = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - begun:6.1f} s  {line}", flush=True)  # noqa: T201

    with (
        tempfile.TemporaryDirectory(prefix="jobledger-upgrade-") as made,
        running_server() as server,
        fresh_database(server) as url,
    ):
        directory = Path(made)
        earlier = build(sys.argv[1] if len(sys.argv) > 1 else previous_commit(), directory / "old")
        say(f"the earlier program is {earlier.commit}, its schema {earlier.newest_migration}")
        sandbox = start_sandbox(directory / "sandbox", "127.0.0.1", 0)
        try:
            with namespace_of(sandbox) as api:
                place = directory / "terminal"
                place.mkdir()
                terminal = Terminal(place, plain_environment(place, directory / "bytecode"))
                terminal = at_sandbox(terminal, sandbox, url)
                site = Site(
                    api=api,
                    terminal=terminal,
                    database_url=url,
                    proxy_url=sandbox.data_plane.proxy_url,
                )
                tell(Story(site, earlier, say))
        finally:
            sandbox.stop()
    say("nothing was lost, nothing was done twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
