"""Keeps a private server running for as long as a process needs it.

Postgres ends itself where it cannot write its log of changes, on a full disk say, and starts again
only if it can. And a server that is somebody else's goes when that process does.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import LedgerError
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres

LOOK_SECONDS = 1.0
"""Between two looks at the server, and before the first try to start it again."""

RETRY_SECONDS_MAX = 15.0
"""Longest pause between two tries: each is twice as long as the one before."""

log = get_logger(__name__)


@contextmanager
def kept_running(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    """Yield a private server that is started again whenever it has ended.

    Raises:
        LedgerMisconfigured, LedgerUnavailable: as `EmbeddedPostgres.start`, the first time.
    """
    stopped = threading.Event()
    with EmbeddedPostgres(data_dir) as server:
        keeper = threading.Thread(
            target=_look_after, args=(server, stopped), name="postgres-keeper", daemon=True
        )
        keeper.start()
        try:
            yield server
        finally:
            stopped.set()
            keeper.join()


def _look_after(server: EmbeddedPostgres, stopped: threading.Event) -> None:
    url, pause = server.url, LOOK_SECONDS
    while not stopped.wait(pause):
        try:
            was_ended = server.revive()
        except LedgerError as error:
            pause = min(pause * 2, RETRY_SECONDS_MAX)
            log.warning("private_postgres_not_started", why=str(error), retry_in_seconds=pause)
            continue
        pause = LOOK_SECONDS
        if was_ended and server.url == url:
            log.warning("private_postgres_started_again", data=str(server.data_directory))
        elif was_ended:
            log.error(
                "private_postgres_moved",
                data=str(server.data_directory),
                remedy="another process has its port; start this one again",
            )
