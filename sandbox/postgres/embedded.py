"""Starts and stops the private Postgres of a machine that offers none.

A private server on loopback, with a password, in a stated data directory that is kept between
runs. The process that started it stops it, or takes it along when it dies; others attach.
"""

import socket
import threading
import time
from pathlib import Path
from typing import Self

from jobledger.core.errors import LedgerMisconfigured, LedgerUnavailable
from jobledger.sandbox.postgres.binaries import Binaries, find_binaries
from jobledger.sandbox.postgres.binaries_copy import reachable
from jobledger.sandbox.postgres.data_directory import FULL, DataDirectory, why_it_ended
from jobledger.sandbox.postgres.local_connection import LOOPBACK, ensure_database, try_login
from jobledger.sandbox.postgres.pid_file import pid_in, says_ready, says_stopping
from jobledger.sandbox.postgres.process import (
    FAST_SECONDS,
    ServerProcess,
    end_server,
    servers_of,
    wait_until_gone,
)
from jobledger.sandbox.postgres.record import RunningServer, ServerRecord
from jobledger.sandbox.postgres.user import server_user

READY_SECONDS = 300.0
"""How long a starting server may take until it answers; recovery after a crash can be long."""

ATTACH_SECONDS = 60.0
"""How long to wait for a server that another process is starting."""

LEAVING_SECONDS = 5.0
"""How long the server of a process that died may take to end by itself."""

ENDING_SECONDS = 2.0
"""How long a server of ours that does not answer may take to be seen as ended."""

USERS_SECONDS = 3.0
"""How long a server is left to commands of other processes before it is stopped: most take one."""

PORT_ATTEMPTS = 5
"""How often another port is tried when somebody else takes the one we found free."""

POLL_SECONDS = 0.02
"""Between two looks at a server that is starting."""

ALWAYS = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "logging_collector=off")

FOR_TESTS = ("fsync=off", "full_page_writes=off", "shared_buffers=64MB", "max_wal_size=256MB")
"""Several times as many small commits per second, in little room. What was committed survives a
kill of the server (`synchronous_commit` stays on for that), but not a power cut.
"""


class EmbeddedPostgres:
    """A private server over one data directory, ours or attached to. Safe for many threads."""

    def __init__(
        self, data_dir: Path, *, durable: bool = True, database: str = "jobledger"
    ) -> None:
        self._data = DataDirectory(data_dir)
        self._record = ServerRecord(
            self._data.beside(".lock"),
            self._data.beside(".state.json"),
            self._data.beside(".users"),
        )
        self._durable = durable
        self._database = database
        self._one_at_a_time = threading.RLock()
        self._process: ServerProcess | None = None
        self._server: RunningServer | None = None
        self._binaries: Binaries | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> str:
        """Return the URL of the server, after starting it or attaching to the one that runs.

        Raises:
            LedgerMisconfigured: no Postgres here, an unfit data directory, or it refuses to start.
            LedgerUnavailable: the server that runs, or is being started, does not answer in time.
        """
        return self.ensure_running()

    def ensure_running(self) -> str:
        """Return the URL of a server that answers; start it again if it has ended.

        The port stays if it can; it may change when another process starts the server. Raises as
        `start`.
        """
        with self._one_at_a_time:
            self._data.prepare_parent()
            if self._record.lock():
                self._run_server()
            else:
                self._attach()
            server = self._known_server()
            ensure_database(server.port, self._data.password(), self._database)
            return self.url

    def revive(self) -> bool:
        """Start the server again if it has ended, or its process has; return whether it had.

        Nobody is waited for who holds the data directory. Raises as `start`.
        """
        with self._one_at_a_time:
            if self._server is None or (self._process is not None and self._process.running):
                return False
            if not self._record.lock():
                return False
            self._run_server()
            return True

    @property
    def data_directory(self) -> Path:
        """Where its data are."""
        return self._data.path

    @property
    def url(self) -> str:
        """The address for SQLAlchemy; it holds the password.

        Raises:
            LedgerUnavailable: it has not been started.
        """
        server = self._known_server()
        password = self._data.password()
        return f"postgresql+psycopg://postgres:{password}@{LOOPBACK}:{server.port}/{self._database}"

    @property
    def version(self) -> str:
        """The version of the server, as 18.4. Raises as `url`."""
        return self._known_server().version

    @property
    def server_pid(self) -> int:
        """The process id of the server. Raises as `url`."""
        return self._known_server().pid

    def stop(self) -> None:
        """Stop the server if we started it (a fast shutdown); only let go of it otherwise.

        Other processes that use it are left a moment to end.
        """
        with self._one_at_a_time:
            self._server = None
            self._record.leave()
            if not self._record.locked:
                return
            try:
                self._record.remove()  # whoever comes now waits for the lock
                if self._process is not None:
                    self._record.wait_for_users(USERS_SECONDS)
                    self._process.stop()
                    self._process = None
            finally:
                self._record.unlock()

    def _known_server(self) -> RunningServer:
        """Return the server that `start` found or started."""
        server = self._server
        if server is None:
            raise LedgerUnavailable("the private Postgres has not been started")
        return server

    def _attach(self) -> None:
        """Wait for the server of the process that holds the lock; take over if it lets go."""
        until = time.monotonic() + ATTACH_SECONDS
        while not self._record.lock():
            server = self._record.read()
            if (
                server is not None
                and self._data.has_password()
                and try_login(server.port, self._data.password()) is None
            ):
                self._server = server
                self._record.use()
                return
            if time.monotonic() >= until:
                raise LedgerUnavailable(
                    f"process {self._record.lock_holder()} holds the data directory "
                    f"{self._data.path} and its Postgres does not answer; end that process, or "
                    f"wait until its server has started ({self._data.log} says what stops it)"
                )
            time.sleep(POLL_SECONDS)
        self._run_server()

    def _run_server(self) -> None:
        """Run the server as ours; give the lock back if that fails."""
        if self._still_runs():
            return
        self._record.leave()
        try:
            self._clear_leftovers()
            binaries = self._prepare()
            self._launch(binaries)
        except OSError as error:
            self._record.unlock()
            full = error.errno in FULL
            remedy = "make room there, and start again" if full else "choose another data directory"
            raise LedgerMisconfigured(
                f"the private Postgres in {self._data.path} cannot be started: "
                f"{error.strerror or error}; {remedy}"
            ) from error
        except BaseException:
            self._record.unlock()
            raise

    def _still_runs(self) -> bool:
        """Return whether our server answers; False if it has ended.

        Raises:
            LedgerUnavailable: neither.
        """
        if self._process is None or self._server is None:
            return False
        problem = self._login_problem(self._server)
        if problem is None:
            return True
        # A server that was just killed may not have been reaped yet; one that was told to stop
        # first writes all that it holds.
        stopping = says_stopping(self._data.path / "postmaster.pid", self._server.pid)
        if self._process.ended_within(FAST_SECONDS if stopping else ENDING_SECONDS):
            return False
        raise LedgerUnavailable(
            f"the private Postgres in {self._data.path} runs and does not answer: {problem}"
        )

    def _clear_leftovers(self) -> None:
        """Wait for, or end, a server whose process has died; drop a pid file that names a stranger.

        Raises:
            LedgerMisconfigured: a server that Jobledger did not start uses the data directory.
        """
        directory = self._data.path
        if not wait_until_gone(directory, LEAVING_SECONDS):
            left = servers_of(directory)
            ours = self._record.read()
            postmaster = pid_in(directory / "postmaster.pid")
            if postmaster in left and (ours is None or ours.pid != postmaster):
                raise LedgerMisconfigured(
                    f"a Postgres that jobledger did not start (process {postmaster}) uses the data "
                    f"directory {directory}; stop it, or set DATABASE_URL to use it"
                )
            for pid in left:
                end_server(pid, lambda seconds: wait_until_gone(directory, seconds))
        # After a restart of the machine or container the number may belong to anybody, and
        # Postgres would refuse to start. A number that is free it clears up itself.
        stale = pid_in(directory / "postmaster.pid")
        if stale is not None and Path(f"/proc/{stale}").exists():
            (directory / "postmaster.pid").unlink(missing_ok=True)

    def _prepare(self) -> Binaries:
        """Return binaries that fit the data directory, which exists and has our password then."""
        major = self._data.major()
        try:
            found = self._binaries or find_binaries(major)
        except LedgerMisconfigured as error:
            if major is None:
                raise
            raise LedgerMisconfigured(
                f"the data directory {self._data.path} was made by Postgres {major}: {error}; "
                f"install Postgres {major}, choose another data directory, or set DATABASE_URL"
            ) from error
        self._binaries = reachable(found, server_user())
        if major is None:
            self._data.create(self._binaries, durable=self._durable)
        elif not self._data.has_password():
            self._data.replace_password(self._binaries)
        return self._binaries

    def _launch(self, binaries: Binaries) -> None:
        """Start the server on the port it had, or on another one if that is taken."""
        ports = [self._server.port] if self._server is not None else []
        for _ in range(PORT_ATTEMPTS):
            port = ports.pop() if ports else _free_port()
            log_begins = self._data.rotate_log()
            process = ServerProcess(self._command(binaries, port), self._data.log)
            try:
                server = RunningServer(process.start(), port, binaries.version)
                self._record.write(server)
                self._await_ready(process, server, log_begins)
            except _PortTaken:
                continue
            except BaseException:
                if process.running:
                    process.stop()
                raise
            self._process, self._server = process, server
            return
        raise LedgerUnavailable(
            f"no free port was found for the private Postgres in {PORT_ATTEMPTS} attempts"
        )

    def _command(self, binaries: Binaries, port: int) -> list[str]:
        """Return the command line of the server."""
        settings = (*ALWAYS, f"port={port}", *(() if self._durable else FOR_TESTS))
        options = [word for setting in settings for word in ("-c", setting)]
        return [binaries.command("postgres"), "-D", str(self._data.path), *options]

    def _await_ready(self, process: ServerProcess, server: RunningServer, log_begins: int) -> None:
        """Return once the server lets us in."""
        until = time.monotonic() + READY_SECONDS
        while (problem := self._login_problem(server)) is not None:
            if process.ended_within(POLL_SECONDS):
                self._explain_end(log_begins)
            if "password authentication failed" in problem:
                raise LedgerMisconfigured(
                    f"the private Postgres refuses the password beside {self._data.path}; remove "
                    "the file *.password there and start again: a new one will be set"
                )
            if time.monotonic() >= until:
                raise LedgerUnavailable(
                    f"the private Postgres in {self._data.path} does not answer after "
                    f"{READY_SECONDS:.0f} s: {problem}; see {self._data.log}"
                )

    def _login_problem(self, server: RunningServer) -> str | None:
        """Return why our server does not let us in yet, or None if it does.

        Nobody is asked before the server says that it is ready: on a taken port a stranger answers.
        """
        if not says_ready(self._data.path / "postmaster.pid", server.pid):
            return "it is still starting"
        return try_login(server.port, self._data.password())

    def _explain_end(self, log_begins: int) -> None:
        """Raise what the log of a server that ended too early calls for."""
        with self._data.log.open("rb") as log:
            log.seek(log_begins)
            said = log.read().decode(errors="replace")
        if "could not bind" in said:
            raise _PortTaken
        raise LedgerMisconfigured(
            f"the private Postgres in {self._data.path} does not start: {why_it_ended(said)}; the "
            f"whole log is {self._data.log}"
        )


class _PortTaken(Exception):
    """Somebody else listens on the port that was free a moment ago."""


def _free_port() -> int:
    """Return a port of loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
