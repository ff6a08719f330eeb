"""A streaming replica of a running Postgres, that is cut off and promoted.

It is made as docs/howto/operate.md says: pg_basebackup with `standby.signal`, asynchronous.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict

from jobledger.sandbox.postgres.binaries import find_binaries
from jobledger.sandbox.postgres.binaries_copy import reachable
from jobledger.sandbox.postgres.process import ServerProcess
from jobledger.sandbox.postgres.user import as_server_user, server_user
from tests.support.ports import reserved_ports
from tests.support.postgres import open_directory, plain_url
from tests.support.waiting import wait_until

LIMIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Standby:
    """A replica that runs, and the address of the same database on it."""

    primary_url: str
    url: str

    def wait_until_caught_up(self) -> None:
        """Return once everything that was committed on the primary is here."""
        (position,) = asked(self.primary_url, "SELECT pg_current_wal_lsn()")

        def is_there() -> bool:
            (there,) = asked(self.url, f"SELECT pg_last_wal_replay_lsn() >= '{position}'")
            return bool(there)

        wait_until(is_there, "the replica has caught up", LIMIT_SECONDS)

    def cut_off(self) -> None:
        """Let it receive nothing any more; the primary goes on."""
        with psycopg.connect(plain_url(self.url), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
        wait_until(self._receives_nothing, "the replica is cut off", LIMIT_SECONDS)

    def _receives_nothing(self) -> bool:
        (count,) = asked(self.url, "SELECT count(*) FROM pg_stat_wal_receiver")
        return count == 0

    def promote(self) -> None:
        """Make it a primary, without what it has not got."""
        (promoted,) = asked(self.url, "SELECT pg_promote(wait => true)")
        assert promoted


def asked(url: str, query: str) -> tuple[object, ...]:
    """Return the only row of a query."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return tuple(row)


@contextmanager
def standby_of(primary_url: str) -> Iterator[Standby]:
    """Give a replica of a server, for as long as the block lasts."""
    told = conninfo_to_dict(plain_url(primary_url))
    (port,) = reserved_ports(1)
    with open_directory() as directory:
        binaries = reachable(find_binaries(None), server_user())
        data = directory / "standby"
        if os.geteuid() == 0:
            os.chown(directory, server_user(), -1)
        where = ["-h", str(told["host"]), "-p", str(told["port"]), "-U", str(told["user"])]
        how = ["-D", str(data), "-R", "-X", "stream", "-c", "fast"]
        subprocess.run(
            as_server_user(binaries.command("pg_basebackup"), *where, *how),
            env={"PATH": "/usr/bin:/bin", "PGPASSWORD": str(told["password"])},
            cwd="/",
            check=True,
            capture_output=True,
        )
        options = [f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
        words = [word for option in options for word in ("-c", option)]
        command = [binaries.command("postgres"), "-D", str(data), *words]
        server = ServerProcess(command, directory / "standby.log")
        server.start()
        url = primary_url.replace(f":{told['port']}/", f":{port}/")
        try:
            wait_until(lambda: answers(url), "the replica answers", LIMIT_SECONDS)
            yield Standby(primary_url, url)
        except BaseException as error:
            error.add_note((directory / "standby.log").read_text()[-4000:])
            raise
        finally:
            server.stop()


def answers(url: str) -> bool:
    """Return whether a server answers."""
    try:
        asked(url, "SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
