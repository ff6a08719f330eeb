"""Postgres installed where root's server cannot go: below a home of mode 0700, as in `/root`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres.binaries import WHEEL_PACKAGE, Binaries, find_binaries
from jobledger.sandbox.postgres.binaries_copy import reachable, trial
from jobledger.sandbox.postgres.data_directory import DataDirectory
from jobledger.sandbox.postgres.user import as_user, server_user, temporary_directory
from tests.support.postgres import open_directory

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another user"),
]

ROOT = Path(__file__).parents[3]
COPIERS = 4
COPIER = """
import sys
from pathlib import Path
from jobledger.sandbox.postgres.binaries import Binaries
from jobledger.sandbox.postgres.binaries_copy import reachable
from jobledger.sandbox.postgres.user import server_user
original, cache = Binaries(Path(sys.argv[1]), "18.4"), Path(sys.argv[2])
sys.stdin.readline()
print(reachable(original, server_user(), cache).directory)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)


def closed_install(place: Path) -> Binaries:
    """An installation as of a wheel, whose initdb needs what lies beside the package."""
    install = place / "site packages" / "pg" / "pg18"
    libraries = install.parent.with_name("pg.libs")
    for folder in (install / "bin", install / "share", install / "include", libraries):
        folder.mkdir(parents=True)
    (install / "include" / "postgres.h").write_text("/* for compilers */")
    (install / "share" / "postgres.bki").write_text("the catalogue")
    program(install / "bin" / "postgres", "echo started")
    program(install / "bin" / "initdb", 'cat "$(dirname "$0")/../../../pg.libs/libpq.so"')
    (libraries / "libpq.so").write_text("linked\n")
    (libraries / "libpq.so.5").symlink_to("libpq.so")
    for directory, _, files in os.walk(place):
        Path(directory).chmod(0o700)
        for name in files:
            Path(directory, name).chmod(0o700 if directory.endswith("bin") else 0o600)
    return Binaries(install / "bin", "18.4")


def said_by(binaries: Binaries, name: str) -> str:
    command = as_user(server_user(), binaries.command(name))
    return subprocess.check_output(command, text=True, cwd="/")


def files_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if not path.is_dir())


def test_a_wheel_below_a_closed_folder_is_copied_with_its_libraries(directory: Path) -> None:
    original = closed_install(directory / "closed")
    copy = reachable(original, server_user(), directory / "cache")
    assert copy.directory.is_relative_to(directory / "cache")
    assert (said_by(copy, "postgres"), said_by(copy, "initdb")) == ("started\n", "linked\n")
    kept = copy.directory.parents[2]
    assert files_below(kept) == ["initdb", "libpq.so", "libpq.so.5", "postgres", "postgres.bki"]
    assert sorted(path.name for path in (directory / "cache").iterdir()) == [
        kept.name,
        f"{kept.name}.lock",
    ]


def test_the_wheels_own_binaries_make_a_data_directory_from_a_closed_folder(
    directory: Path,
) -> None:
    """The real thing: `git clone` in /root, `make demo`."""
    found = find_binaries(None)
    if WHEEL_PACKAGE not in found.directory.parts:
        pytest.skip("Postgres is not that of the wheel here; `make install` brings it")
    install = found.directory.parent
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    for folder in (install, install.parent.with_name(f"{WHEEL_PACKAGE}.libs")):
        target = closed / folder.relative_to(install.parents[1])
        shutil.copytree(folder, target, symlinks=True)
    within = Binaries(closed / WHEEL_PACKAGE / install.name / "bin", found.version)
    assert trial(within.directory, server_user()) is not None
    copy = reachable(within, server_user(), directory / "cache")
    data = DataDirectory(directory / "data")
    data.create(copy, durable=False)
    assert data.major() == found.major


@pytest.mark.parametrize("harm", ["no libraries", "cut off", "no catalogue", "closed", "empty"])
def test_a_copy_that_is_not_whole_is_made_anew(directory: Path, harm: str) -> None:
    original = closed_install(directory / "closed")
    copy = reachable(original, server_user(), directory / "cache")
    install = copy.directory.parent
    match harm:
        case "no libraries":
            shutil.rmtree(install.parent.with_name("pg.libs"))
        case "cut off":
            (copy.directory / "postgres").write_text("")
        case "no catalogue":
            (install / "share" / "postgres.bki").unlink()
        case "closed":
            install.parent.chmod(0o700)
        case _:
            shutil.rmtree(copy.directory.parents[2])
            copy.directory.parents[2].mkdir()
    assert reachable(original, server_user(), directory / "cache") == copy
    assert (said_by(copy, "postgres"), said_by(copy, "initdb")) == ("started\n", "linked\n")
    assert (install / "share" / "postgres.bki").read_text() == "the catalogue"


def test_a_copy_that_is_whole_stays_as_it_is(directory: Path) -> None:
    """A server may run from it."""
    original = closed_install(directory / "closed")
    copy = reachable(original, server_user(), directory / "cache")
    before = (copy.directory / "postgres").stat()
    assert reachable(original, server_user(), directory / "cache") == copy
    after = (copy.directory / "postgres").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_another_installation_of_the_same_version_has_a_copy_of_its_own(directory: Path) -> None:
    one = closed_install(directory / "one")
    other = closed_install(directory / "other")
    program(other.directory / "postgres", "echo started otherwise")
    copies = [reachable(found, server_user(), directory / "cache") for found in (one, other, one)]
    assert copies[0] == copies[2] != copies[1]
    assert said_by(copies[1], "postgres") == "started otherwise\n"


def test_what_a_killed_copier_left_is_cleared_away(directory: Path) -> None:
    original = closed_install(directory / "closed")
    copy = reachable(original, server_user(), directory / "cache")
    kept = copy.directory.parents[2]
    kept.rename(kept.with_name(f"{kept.name}.new"))
    (kept.with_name(f"{kept.name}.spoilt") / "bin").mkdir(parents=True)
    assert reachable(original, server_user(), directory / "cache") == copy
    assert said_by(copy, "initdb") == "linked\n"
    assert sorted(path.name for path in (directory / "cache").iterdir()) == [
        kept.name,
        f"{kept.name}.lock",
    ]


def test_several_who_copy_at_once_all_get_a_copy_that_runs(directory: Path) -> None:
    original = closed_install(directory / "closed")
    command = [sys.executable, "-c", COPIER, str(original.directory), str(directory / "cache")]
    copiers = [
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(COPIERS)
    ]
    for copier in copiers:
        assert copier.stdin is not None
        copier.stdin.write("go\n")
        copier.stdin.flush()
    answers = {copier.communicate()[0] for copier in copiers}
    assert [copier.returncode for copier in copiers] == [0] * COPIERS
    (said,) = answers
    assert said_by(Binaries(Path(said.strip()), "18.4"), "initdb") == "linked\n"


def test_a_copy_is_made_under_any_umask(directory: Path) -> None:
    original = closed_install(directory / "closed")
    cache = directory / "var" / "cache"
    before = os.umask(0o077)
    try:
        copy = reachable(original, server_user(), cache)
    finally:
        os.umask(before)
    assert said_by(copy, "initdb") == "linked\n"


def test_a_cache_that_an_umask_has_closed_is_opened(directory: Path) -> None:
    original = closed_install(directory / "closed")
    (directory / "cache").mkdir(mode=0o700)
    copy = reachable(original, server_user(), directory / "cache")
    assert said_by(copy, "initdb") == "linked\n"


def test_what_the_servers_user_can_run_is_not_copied(directory: Path) -> None:
    found = find_binaries(None)
    if trial(found.directory, server_user()) is not None:
        pytest.skip("this checkout lies where the server's user cannot enter")
    assert reachable(found, server_user(), directory / "cache") == found
    assert not (directory / "cache").exists()


def test_programs_that_lie_open_and_do_not_start_as_that_user_are_copied(directory: Path) -> None:
    """A link is passable where what it leads to is not."""
    original = closed_install(directory / "closed")
    (directory / "link").symlink_to(original.directory.parents[2])
    linked = Binaries(directory / "link" / "pg" / "pg18" / "bin", "18.4")
    copy = reachable(linked, server_user(), directory / "cache")
    assert said_by(copy, "initdb") == "linked\n"


def test_binaries_that_cannot_be_reached_at_all_are_refused(directory: Path) -> None:
    original = closed_install(directory / "closed")
    closed_cache = directory / "closed" / "cache"
    with pytest.raises(LedgerMisconfigured) as caught:
        reachable(original, server_user(), closed_cache)
    assert f"cannot enter {directory / 'closed'}, and the copy in {closed_cache}" in str(
        caught.value
    )
    assert "make one of the two accessible (chmod o+x)" in str(caught.value)
    assert [path.suffix for path in closed_cache.iterdir()] == [".lock"]
    with pytest.raises(LedgerMisconfigured, match="no copy can be made in"):
        reachable(original, server_user(), original.directory / "postgres")


def test_a_copy_that_does_not_run_is_not_kept(directory: Path) -> None:
    original = closed_install(directory / "closed")
    shutil.rmtree(original.directory.parents[1].with_name("pg.libs"))
    with pytest.raises(LedgerMisconfigured, match=r"does not run either \(initdb: cat: "):
        reachable(original, server_user(), directory / "cache")
    assert [path.suffix for path in (directory / "cache").iterdir()] == [".lock"]


def test_a_temporary_directory_is_made_where_the_servers_user_gets(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(closed))
    made = temporary_directory("jobledger-")
    try:
        assert not made.is_relative_to(closed)
        subprocess.run(as_user(server_user(), "/usr/bin/test", "-x", str(made)), check=True)
    finally:
        made.rmdir()
