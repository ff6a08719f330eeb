"""The program as an earlier commit has it: its wheel, built and unpacked, ready to be run."""

import io
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MIGRATIONS = "migrations/versions"
FIRST = f"{MIGRATIONS}/0101_create_log.py"
"""The first migration of the released line; commits without it have schemas that lead nowhere."""

COMMITS_MAX = 300
BUILD_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier program."""

    commit: str
    place: Path
    """Where its wheel is unpacked: what PYTHONPATH has to be for it to run."""

    @property
    def newest_migration(self) -> str:
        """Return the revision of the schema that it needs."""
        files = self.place.glob("**/adapters/postgres/migrations/versions/[0-9]*.py")
        return max(file.name for file in files).split("_")[0]


def previous_commit() -> str:
    """Return the newest commit with another schema than the work tree's; else the one before.

    Only of commits whose schema leads to the work tree's. Ends the program where there are none (a
    shallow clone).
    """
    ours = {file.name for file in (ROOT / MIGRATIONS).glob("[0-9]*.py")}
    commits = _git("rev-list", f"--max-count={COMMITS_MAX}", "HEAD").decode().split()
    alike: list[str] = []
    for commit in commits[1:]:
        listed = _git("ls-tree", "--name-only", commit, f"{MIGRATIONS}/").decode().split()
        if FIRST not in listed:
            break
        if {Path(name).name for name in listed} != ours:
            return commit
        alike.append(commit)
    if not alike:
        sys.exit("there is no earlier commit with a schema of this line here")
    return alike[0]


def build(commit: str, directory: Path) -> Earlier:
    """Build the wheel of a commit and unpack it; nothing of the work tree gets into it."""
    tree, place = directory / "tree", directory / "wheel"
    tree.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as packed:
        packed.extractall(tree, filter="data")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": ""},
        check=True,
        capture_output=True,
        timeout=BUILD_SECONDS,
    )
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(place)
    if not (place / "jobledger").exists():
        _give_the_package(place)
    return Earlier(_git("rev-parse", "--short", commit).decode().strip(), place)


def _give_the_package(place: Path) -> None:
    """Let a program from before there was one package be started as those after it."""
    command = place / "jobledger" / "adapters" / "cli" / "main.py"
    command.parent.mkdir(parents=True)
    (place / "jobledger" / "__init__.py").touch()
    command.write_text("from adapters.cli.main import main\n\nmain()\n", encoding="utf-8")


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout
