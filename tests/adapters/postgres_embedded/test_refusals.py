"""What the private server does not touch, and what it says then."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres.binaries import find_binaries
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from jobledger.sandbox.postgres.user import server_user
from tests.support.postgres import open_directory

pytestmark = pytest.mark.postgres

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another user")


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def refusal(data_directory: Path) -> str:
    with pytest.raises(LedgerMisconfigured) as caught:
        EmbeddedPostgres(data_directory).start()
    return str(caught.value)


def test_data_of_another_major_version_is_refused(directory: Path) -> None:
    data = directory / "data"
    data.mkdir(mode=0o700)
    (data / "PG_VERSION").write_text("9\n")
    os.chown(data, server_user(), -1)
    said = refusal(data)
    assert str(data) in said
    assert "was made by Postgres 9" in said
    assert "install Postgres 9, choose another data directory, or set DATABASE_URL" in said
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_a_directory_with_other_things_in_it_is_refused(directory: Path) -> None:
    (directory / "data").mkdir()
    (directory / "data" / "thesis.tex").write_text("years of work")
    assert "neither empty nor a Postgres data directory" in refusal(directory / "data")
    assert (directory / "data" / "thesis.tex").exists()


def test_an_empty_directory_is_used(directory: Path) -> None:
    (directory / "data").mkdir()
    with EmbeddedPostgres(directory / "data", durable=False) as server:
        assert server.version


def test_a_file_in_the_way_is_refused(directory: Path) -> None:
    (directory / "file").write_text("")
    assert "choose another one" in refusal(directory / "file" / "data")
    assert "choose another one" in refusal(directory / "file")


@ONLY_ROOT
def test_data_of_another_user_is_refused(directory: Path) -> None:
    data = directory / "data"
    data.mkdir()
    (data / "PG_VERSION").write_text(f"{find_binaries(None).major}\n")
    os.chown(data, 12345, -1)
    assert "belongs to user id 12345" in refusal(data)


@ONLY_ROOT
def test_a_place_that_the_servers_user_cannot_enter_is_refused(directory: Path) -> None:
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    assert f"nobody cannot enter {closed}; choose a data directory elsewhere" in refusal(
        closed / "data"
    )


def test_a_server_that_somebody_else_started_is_not_touched(directory: Path) -> None:
    data = directory / "data"
    with EmbeddedPostgres(data, durable=False) as server:
        # As if started by hand: nobody holds the lock, and the record names another process.
        stranger = EmbeddedPostgres(data)
        data.with_name("data.lock").unlink()
        data.with_name("data.state.json").unlink()
        with pytest.raises(LedgerMisconfigured, match="that jobledger did not start"):
            stranger.start()
        assert server.ensure_running() == server.url


def test_the_wheels_python_interface_is_never_imported(directory: Path) -> None:
    program = (
        "import sys; from jobledger.sandbox.postgres.binaries import find_binaries;"
        "find_binaries(None);"
        "print([name for name in sys.modules if name.startswith('pixeltable')])"
    )
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, cwd=root, text=True) == "[]\n"
    assert directory.exists()
