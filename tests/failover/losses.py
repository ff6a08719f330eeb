"""Ways in which a ledger loses what came after an instant: each is cut, and gives what is left.

A streaming replica that is promoted, a dump that is restored, a base backup with the WAL up to a
point in time. All of them need Postgres' own programs alone.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict

from jobledger.sandbox.postgres.binaries import find_binaries
from jobledger.sandbox.postgres.binaries_copy import reachable
from jobledger.sandbox.postgres.process import ServerProcess
from jobledger.sandbox.postgres.user import as_server_user, server_user
from tests.failover.standby import LIMIT_SECONDS, Standby, answers, asked, standby_of
from tests.support.ports import reserved_ports
from tests.support.postgres import open_directory, plain_url
from tests.support.waiting import wait_until


class Loss(Protocol):
    """A way to lose the newest events."""

    def cut(self) -> None:
        """Take note of what is kept; everything later is lost."""

    def restored(self) -> str:
        """Return the address of what is left, which can be written to."""


class Promotion:
    """A replica that receives nothing any more, and is promoted."""

    def __init__(self, standby: Standby) -> None:
        self._standby = standby

    def cut(self) -> None:
        """See `Loss.cut`."""
        self._standby.wait_until_caught_up()
        self._standby.cut_off()

    def restored(self) -> str:
        """See `Loss.restored`."""
        self._standby.promote()
        return self._standby.url


@contextmanager
def promotion(url: str) -> Iterator[Loss]:
    """Give a replica of the server of a database."""
    with standby_of(url) as standby:
        yield Promotion(standby)


class Dump:
    """A dump, restored into a database of its own."""

    def __init__(self, url: str, directory: Path) -> None:
        self._url, self._file = url, directory / "ledger.dump"
        told = conninfo_to_dict(plain_url(url))
        self._name = f"{told['dbname']}_restored"
        self.url = f"{url.rsplit('/', 1)[0]}/{self._name}"

    def cut(self) -> None:
        """See `Loss.cut`."""
        _run("pg_dump", self._url, "--format=custom", f"--file={self._file}")

    def restored(self) -> str:
        """See `Loss.restored`."""
        with psycopg.connect(plain_url(self._url), autocommit=True) as admin:
            admin.execute(f'CREATE DATABASE "{self._name}" TEMPLATE template0'.encode())
        _run("pg_restore", self.url, "--exit-on-error", str(self._file))
        return self.url

    def drop(self) -> None:
        """Leave nothing behind."""
        with psycopg.connect(plain_url(self._url), autocommit=True) as admin:
            admin.execute(f'DROP DATABASE IF EXISTS "{self._name}" WITH (FORCE)'.encode())


@contextmanager
def dump(url: str) -> Iterator[Loss]:
    """Give a dump of a database."""
    with open_directory() as directory:
        _own(directory)
        made = Dump(url, directory)
        try:
            yield made
        finally:
            made.drop()


class PointInTime:
    """A base backup, the WAL that was received since, and a recovery up to a position in it."""

    def __init__(self, url: str, directory: Path) -> None:
        self._url, self._directory = url, directory
        self._archive, self._data = directory / "archive", directory / "data"
        self._slot = f"archive_of_{conninfo_to_dict(plain_url(url))['dbname']}"[:63]
        self._receiver_log = directory / "receiver.log"
        self._target = ""
        self._receiver: subprocess.Popen[bytes] | None = None
        self._server: ServerProcess | None = None

    def begin(self) -> None:
        """Receive the WAL from now on, and take the base backup."""
        self._archive.mkdir()
        _own(self._archive)
        where = ["-D", str(self._archive), f"--slot={self._slot}"]
        _run("pg_receivewal", self._url, *where, "--create-slot")
        self._receiver = _start("pg_receivewal", self._url, self._receiver_log, *where)
        wait_until(self._receives, "the WAL is being received", LIMIT_SECONDS)
        _run("pg_basebackup", self._url, "-D", str(self._data), "-X", "stream", "-c", "fast")

    def _receives(self) -> bool:
        of_the_slot = f"FROM pg_replication_slots WHERE slot_name = '{self._slot}'"
        (active,) = asked(self._url, f"SELECT coalesce(bool_or(active), false) {of_the_slot}")
        return bool(active)

    def cut(self) -> None:
        """See `Loss.cut`."""
        (position,) = asked(self._url, "SELECT pg_current_wal_lsn()")
        self._target = str(position)

    def restored(self) -> str:
        """See `Loss.restored`."""
        # A file of the WAL that holds no record is not ended by a switch, so it gets one.
        record = "pg_logical_emit_message(false, 'tests', 'the last of this file')"
        (name,) = asked(self._url, f"SELECT pg_walfile_name({record})")
        asked(self._url, "SELECT pg_switch_wal()")
        last = self._archive / str(name)
        wait_until(last.exists, "the WAL is in the archive", LIMIT_SECONDS)
        (self._data / "recovery.signal").touch()
        _own(self._data / "recovery.signal")
        (port,) = reserved_ports(1)
        options = [
            f"port={port}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            f"restore_command=cp {self._archive}/%f %p",
            f"recovery_target_lsn={self._target}",
            "recovery_target_action=promote",
        ]
        words = [word for option in options for word in ("-c", option)]
        command = [_program("postgres"), "-D", str(self._data), *words]
        self._server = ServerProcess(command, self._directory / "restored.log")
        self._server.start()
        told = conninfo_to_dict(plain_url(self._url))
        url = self._url.replace(f":{told['port']}/", f":{port}/")
        wait_until(lambda: answers(url), "the restored server answers", LIMIT_SECONDS)

        def is_promoted() -> bool:
            return asked(url, "SELECT pg_is_in_recovery()") == (False,)

        wait_until(is_promoted, "it is promoted", LIMIT_SECONDS)
        return url

    def troubles(self) -> str:
        """Return what the programs wrote: the receiver, and the restored server."""
        logs = (self._receiver_log, self._directory / "restored.log")
        return "\n".join(log.read_text()[-4000:] for log in logs if log.exists())

    def end(self) -> None:
        """Stop what runs, and let the server keep no WAL for it."""
        if self._receiver is not None:
            self._receiver.terminate()
            self._receiver.wait()
            _run("pg_receivewal", self._url, f"--slot={self._slot}", "--drop-slot")
        if self._server is not None:
            self._server.stop()


@contextmanager
def point_in_time(url: str) -> Iterator[Loss]:
    """Give a backup of the server of a database that can be restored up to an instant."""
    with open_directory() as directory:
        _own(directory)
        made = PointInTime(url, directory)
        try:
            made.begin()
            yield made
        except BaseException as error:
            error.add_note(made.troubles())
            raise
        finally:
            made.end()


def _own(path: Path) -> None:
    """Give a file to the server's user, whom root starts servers as."""
    if os.geteuid() == 0:
        os.chown(path, server_user(), -1)


def _program(name: str) -> str:
    return reachable(find_binaries(None), server_user()).command(name)


def _call(name: str, url: str, *words: str) -> tuple[list[str], dict[str, str]]:
    """Return a call of one of Postgres' programs as the server's user, and its environment."""
    told = conninfo_to_dict(plain_url(url))
    where = ["-h", str(told["host"]), "-p", str(told["port"]), "-U", str(told["user"])]
    if name in {"pg_dump", "pg_restore"}:
        where += ["-d", str(told["dbname"])]
    environment = {"PATH": "/usr/bin:/bin", "PGPASSWORD": str(told["password"])}
    return as_server_user(_program(name), *where, *words), environment


def _run(name: str, url: str, *words: str) -> None:
    call, environment = _call(name, url, *words)
    done = subprocess.run(call, env=environment, cwd="/", check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def _start(name: str, url: str, log: Path, *words: str) -> "subprocess.Popen[bytes]":
    call, environment = _call(name, url, *words)
    with log.open("wb") as errors:
        return subprocess.Popen(call, env=environment, cwd="/", stderr=errors)
