"""A private server is started once, kept between runs, shared, and leaves nothing behind."""

import json
import os
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jobledger.core.errors import LedgerUnavailable
from jobledger.sandbox.postgres import embedded
from jobledger.sandbox.postgres.binaries import find_binaries
from jobledger.sandbox.postgres.binaries_copy import trial
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.process import servers_of
from tests.adapters.postgres_embedded.owner_process import another_process
from tests.support.postgres import fresh_database, open_directory, plain_url, running_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def data_directory() -> Iterator[Path]:
    with open_directory() as directory:
        yield directory / "not" / "yet" / "there"


def write_row(url: str, text: str) -> None:
    with psycopg.connect(plain_url(url)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        connection.execute("INSERT INTO note VALUES (%s)", (text,))


def rows(url: str) -> list[str]:
    with psycopg.connect(plain_url(url)) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY text")]


def test_data_is_kept_between_runs(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        write_row(server.url, "kept")
    with EmbeddedPostgres(data_directory, durable=False) as server:
        assert rows(server.url) == ["kept"]


def test_a_durable_server_syncs_and_a_test_server_does_not(data_directory: Path) -> None:
    for durable, fsync in ((True, "on"), (False, "off")):
        with (
            EmbeddedPostgres(data_directory, durable=durable) as server,
            psycopg.connect(plain_url(server.url)) as connection,
        ):
            found = connection.execute("SHOW fsync").fetchone()
        assert found == (fsync,)


def test_stop_leaves_no_process_no_lock_and_no_record(data_directory: Path) -> None:
    before = set(threading.enumerate())  # the suite's own server may have a thread here too
    server = EmbeddedPostgres(data_directory, durable=False)
    server.start()
    server.stop()
    assert not servers_of(data_directory)
    assert set(threading.enumerate()) <= before
    left = {path.name for path in data_directory.parent.iterdir()}
    assert left == {"there", "there.password", "there.log", "there.lock"}
    server.stop()
    with pytest.raises(LedgerUnavailable, match="has not been started"):
        assert server.url


def test_a_password_is_asked_for_and_kept_private(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        password_file = data_directory.with_name("there.password")
        password = password_file.read_text()
        assert stat.S_IMODE(password_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(data_directory.stat().st_mode) == 0o700
        wrong = plain_url(server.url).replace(password, "wrong")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)
        assert password not in data_directory.with_name("there.state.json").read_text()
        assert password not in data_directory.with_name("there.log").read_text()


def test_a_lost_password_is_replaced(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        write_row(server.url, "kept")
    data_directory.with_name("there.password").unlink()
    with EmbeddedPostgres(data_directory, durable=False) as server:
        assert rows(server.url) == ["kept"]


def test_it_runs_as_an_ordinary_user_and_listens_on_loopback_only(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        user = Path(f"/proc/{server.server_pid}").stat().st_uid
        with psycopg.connect(plain_url(server.url)) as connection:
            listens = connection.execute("SHOW listen_addresses").fetchone()
            sockets = connection.execute("SHOW unix_socket_directories").fetchone()
    assert user != 0
    assert listens == ("127.0.0.1",)
    assert sockets == ("",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_other_than_root_runs_the_server_as_itself(data_directory: Path) -> None:
    if trial(find_binaries(None).directory, 65534) is not None:
        pytest.skip("this checkout lies where no user but root gets to its Postgres")
    # The capability lets it read a Python below /root; nothing of ours looks at it.
    become_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    through = (*become_nobody, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    data_directory.parents[2].chmod(0o777)
    with another_process(data_directory, through) as other:
        assert other.stdout is not None
        said = json.loads(other.stdout.readline())
        assert said["uid"] == 65534
        assert Path(f"/proc/{said['pid']}").stat().st_uid == 65534
        write_row(said["url"], "written")
        other.communicate()
    assert other.returncode == 0
    assert not servers_of(data_directory)


def test_a_second_process_attaches_and_its_end_stops_nothing(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        with another_process(data_directory) as other:
            assert other.stdout is not None
            said = json.loads(other.stdout.readline())
            other.communicate()
            assert other.returncode == 0
        assert (said["url"], said["pid"]) == (server.url, server.server_pid)
        write_row(server.url, "still there")


def test_a_server_is_left_for_a_moment_to_a_process_that_uses_it(data_directory: Path) -> None:
    """Of two commands at once the one that was done first cut the other off."""
    server = EmbeddedPostgres(data_directory, durable=False)
    server.start()
    with another_process(data_directory) as other:
        assert other.stdout is not None
        said = json.loads(other.stdout.readline())
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        stopping.join(0.3)
        write_row(said["url"], "still there")
        other.communicate()
        assert other.returncode == 0
        stopping.join()
    assert not servers_of(data_directory)


def test_one_that_goes_on_using_it_is_not_waited_for(
    data_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "USERS_SECONDS", 0.2)
    server = EmbeddedPostgres(data_directory, durable=False)
    server.start()
    with another_process(data_directory) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        server.stop()
        assert not servers_of(data_directory)


def test_many_that_start_at_once_share_one_server(data_directory: Path) -> None:
    servers = [EmbeddedPostgres(data_directory, durable=False) for _ in range(4)]
    threads = [threading.Thread(target=server.start) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({server.server_pid for server in servers}) == 1
    for server in servers:
        server.stop()
    assert not servers_of(data_directory)


def test_the_server_outlives_the_thread_that_started_it(data_directory: Path) -> None:
    server = EmbeddedPostgres(data_directory, durable=False)
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    pid = server.server_pid
    write_row(server.url, "written")
    assert pid in servers_of(data_directory)
    server.stop()


def test_who_was_attached_starts_a_server_when_the_owner_stops(data_directory: Path) -> None:
    owner = EmbeddedPostgres(data_directory, durable=False)
    owner.start()
    attached = EmbeddedPostgres(data_directory, durable=False)
    write_row(attached.start(), "kept")
    port = attached.url
    owner.stop()
    assert attached.ensure_running() == port
    assert rows(attached.url) == ["kept"]
    attached.stop()
    assert not servers_of(data_directory)


def test_a_taken_port_is_exchanged_for_another(data_directory: Path) -> None:
    with EmbeddedPostgres(data_directory, durable=False) as server:
        before = server.url
        pid = server.server_pid
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not servers_of(data_directory), "the server is gone")
        with socket.socket() as stranger:
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            stranger.bind(("127.0.0.1", int(before.rsplit(":", 1)[1].split("/")[0])))
            stranger.listen()
            stranger.setblocking(False)
            assert server.ensure_running() != before
            with pytest.raises(BlockingIOError):
                stranger.accept()  # nobody told the stranger our password, or tried to


def test_each_test_has_a_database_of_its_own() -> None:
    with running_server() as server:
        with fresh_database(server) as url:
            write_row(url, "template")
            with fresh_database(server, url.rsplit("/", 1)[1]) as copy:
                assert rows(copy) == ["template"]
        with fresh_database(server) as url, pytest.raises(psycopg.errors.UndefinedTable):
            rows(url)
