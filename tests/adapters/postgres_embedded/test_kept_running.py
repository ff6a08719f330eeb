"""A private server that ends is started again, by whoever needs it; a full disk is told as that."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres import keeper
from jobledger.sandbox.postgres.data_directory import why_it_ended
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.keeper import kept_running
from jobledger.sandbox.postgres.private_file import write_private
from jobledger.sandbox.postgres.process import servers_of
from tests.support.full_disks import room_for
from tests.support.postgres import open_directory, plain_url
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture(autouse=True)
def looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "LOOK_SECONDS", 0.05)


@pytest.fixture
def data_directory() -> Iterator[Path]:
    with open_directory() as directory:
        yield directory / "data"


def answers(url: str) -> bool:
    try:
        with psycopg.connect(plain_url(url)) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def test_a_server_that_ended_by_itself_is_started_again(data_directory: Path) -> None:
    """As Postgres does where it cannot write its log of changes."""
    with kept_running(data_directory) as server:
        url, pid = server.url, server.server_pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: pid not in servers_of(data_directory), "the server is dead")
        wait_until(lambda: server.server_pid != pid, "another was started")
        assert answers(url)
    assert not servers_of(data_directory)


def test_it_is_tried_again_until_what_hinders_it_is_gone(data_directory: Path) -> None:
    with kept_running(data_directory) as server:
        control, url, pid = data_directory / "global" / "pg_control", server.url, server.server_pid
        control.rename(control.with_name("away"))
        os.kill(pid, signal.SIGKILL)
        log = data_directory.with_name("data.log")
        wait_until(lambda: "could not find the database system" in log.read_text(), "a try")
        control.with_name("away").rename(control)
        wait_until(lambda: answers(url), "it was started again")


def test_who_was_attached_carries_the_server_on(data_directory: Path) -> None:
    owner = EmbeddedPostgres(data_directory)
    owner.start()
    with kept_running(data_directory) as attached:
        url = attached.url
        owner.stop()
        wait_until(lambda: answers(url), "the other process started it")
    assert not servers_of(data_directory)


def test_a_full_disk_is_told_and_leaves_nothing_in_the_way(data_directory: Path) -> None:
    with (
        room_for(0),
        pytest.raises(LedgerMisconfigured, match=f"{data_directory} cannot be started: File too"),
    ):
        EmbeddedPostgres(data_directory).start()
    beside = data_directory.parent
    assert not [*beside.glob("*.tmp"), *beside.glob(f".*.{os.getpid()}")]
    with EmbeddedPostgres(data_directory) as server:
        assert answers(server.url)


def test_a_private_file_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    with room_for(0), pytest.raises(OSError, match="File too large"):
        write_private(tmp_path / "record", "content")
    assert list(tmp_path.iterdir()) == []


FULL = "FATAL:  could not write to file: No space left on device"
CUT = 'FATAL:  could not extend file "base/1/2689": wrote only 4096 of 8192 bytes'
ROOM = "make room there, and start again"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"{FULL}\nLOG:  shut down\n" * 2, f"{FULL}; {ROOM}"),
        (f"{CUT}\nHINT:  Check free disk space.\nPANIC:  cannot abort\n", f"{CUT}; {ROOM}"),
        ("FATAL:  wrong\nLOG:  shut down", "FATAL:  wrong / LOG:  shut down"),
        ("", "it said nothing"),
    ],
)
def test_of_a_log_the_full_disk_is_told(said: str, told: str) -> None:
    assert why_it_ended(said) == told
