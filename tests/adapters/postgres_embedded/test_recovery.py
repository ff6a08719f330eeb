"""Whoever is killed: the server ends with its process, and the data is there again."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres import embedded
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.pid_file import says_stopping
from jobledger.sandbox.postgres.process import ServerProcess, servers_of
from tests.adapters.postgres_embedded.owner_process import another_process
from tests.support.postgres import open_directory, plain_url
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

WITHOUT_PTRACE = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
"""Root as containers have it: it may not look into the processes of other users."""


@pytest.fixture
def data_directory() -> Iterator[Path]:
    with open_directory() as directory:
        yield directory / "data"


def write_row(url: str) -> None:
    with psycopg.connect(plain_url(url)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        connection.execute("INSERT INTO note VALUES ('kept')")


def rows(url: str) -> list[tuple[str]]:
    with psycopg.connect(plain_url(url)) as connection:
        return connection.execute("SELECT text FROM note").fetchall()


def announced(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    said: dict[str, str] = json.loads(process.stdout.readline())
    return said


def test_a_killed_process_takes_its_server_along(data_directory: Path) -> None:
    with another_process(data_directory) as other:
        write_row(announced(other)["url"])
        other.kill()
    wait_until(lambda: not servers_of(data_directory), "the server has followed its process")
    with EmbeddedPostgres(data_directory, durable=False) as server:
        assert rows(server.url) == [("kept",)]


@pytest.mark.parametrize("through", [(), WITHOUT_PTRACE], ids=["plain", "as in a container"])
def test_a_start_at_once_after_a_kill_waits_for_the_old_server(
    data_directory: Path, through: tuple[str, ...]
) -> None:
    if through and os.geteuid() != 0:
        pytest.skip("only root has that capability to lose")
    with another_process(data_directory, through) as first:
        said = announced(first)
        write_row(said["url"])
        # A server that is slow to end, for longer than its process is alive.
        os.kill(int(said["pid"]), signal.SIGSTOP)
        first.kill()
    lock = data_directory.with_name("data.lock")
    with another_process(data_directory, through) as second:
        wait_until(lambda: lock.read_text() == f"{second.pid}\n", "the second is at work")
        os.kill(int(said["pid"]), signal.SIGCONT)
        assert rows(announced(second)["url"]) == [("kept",)]
        second.communicate()
        assert second.returncode == 0
    log = data_directory.with_name("data.log").read_text()
    assert "lock file" not in log
    assert "not properly shut down" not in log


def test_a_killed_server_is_started_again_on_the_same_port(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        write_row(server.url)
        url, pid = server.url, server.server_pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in servers_of(data_directory), "the server is dead")
        assert server.ensure_running() == url
        assert server.server_pid != pid
        assert rows(url) == [("kept",)]


def test_process_and_server_killed_together_leave_a_pid_file_that_is_no_obstacle(
    data_directory: Path,
) -> None:
    with another_process(data_directory) as other:
        said = announced(other)
        write_row(said["url"])
        os.kill(other.pid, signal.SIGSTOP)  # so that it cannot see its server end
        os.kill(int(said["pid"]), signal.SIGKILL)
        other.kill()
    wait_until(lambda: not servers_of(data_directory), "the server is dead")
    pid_file = data_directory / "postmaster.pid"
    assert pid_file.exists()
    # The number belongs to somebody else by now, as after a restart of the container.
    with subprocess.Popen(["sleep", "60"], user=data_directory.stat().st_uid) as stranger:
        try:
            lines = pid_file.read_text().split("\n")
            pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]))
            with EmbeddedPostgres(data_directory, durable=False) as server:
                assert rows(server.url) == [("kept",)]
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_a_half_made_data_directory_is_made_again(data_directory: Path) -> None:
    half = data_directory.with_name("data.new")
    (half / "base").mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(data_directory, durable=False) as server:
        write_row(server.url)
    assert not half.exists()


def test_a_server_that_cannot_start_says_why_and_leaves_the_lock_free(
    data_directory: Path,
) -> None:
    with EmbeddedPostgres(data_directory, durable=False):
        pass
    control = data_directory / "global" / "pg_control"
    whole = control.read_bytes()
    control.write_bytes(b"")
    server = EmbeddedPostgres(data_directory, durable=False)
    with pytest.raises(LedgerMisconfigured, match=r"does not start: .*pg_control.*data\.log"):
        server.start()
    control.write_bytes(whole)
    server.start()
    server.stop()


def test_a_server_that_is_still_shutting_down_is_waited_for(
    data_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "ENDING_SECONDS", 0)
    with EmbeddedPostgres(data_directory, durable=False) as server:
        write_row(server.url)
        pid = server.server_pid
        with psycopg.connect(plain_url(server.url)) as session:
            slow = session.info.backend_pid
            os.kill(slow, signal.SIGSTOP)  # what keeps a server from ending at once
            os.kill(pid, signal.SIGINT)
            pid_file = data_directory / "postmaster.pid"
            wait_until(lambda: says_stopping(pid_file, pid), "the server is shutting down")
            wait = ServerProcess.ended_within

            def look(process: ServerProcess, seconds: float) -> bool:
                if slow in servers_of(data_directory):
                    os.kill(slow, signal.SIGCONT)
                return wait(process, seconds)

            monkeypatch.setattr(ServerProcess, "ended_within", look)
            server.ensure_running()
        assert server.server_pid != pid
        assert rows(server.url) == [("kept",)]
