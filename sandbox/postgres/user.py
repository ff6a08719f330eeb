"""Chooses the user of the private server, and checks that user's access to files.

Postgres refuses to run as root. Root's server runs as `nobody`, which has a passwd entry on every
machine (initdb needs one); nothing on the machine is changed to make that work.
"""

import os
import pwd
import sys
import tempfile
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured

LAUNCHER = Path(__file__).with_name("launcher.py")

SYSTEM_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 -- only to make directories of our own in
"""Source: the Filesystem Hierarchy Standard; everybody may write there."""


def server_user() -> int:
    """Return the user id of the server: our own, or nobody's if we are root."""
    own = os.geteuid()
    if own != 0:
        return own
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        raise LedgerMisconfigured(
            "Postgres does not run as root, and there is no user nobody to run it as; "
            "start jobledger as another user or set DATABASE_URL"
        ) from None


def as_server_user(*command: str) -> list[str]:
    """Return the command that runs `command` as the server's user, until this process ends."""
    return as_user(server_user(), *command)


def as_user(user: int, *command: str) -> list[str]:
    """Return the command that runs `command` as `user`, until this process ends."""
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), str(user), *command]


def closed_directory(path: Path, user: int) -> Path | None:
    """Return the first directory on the way to `path` that `user` cannot pass, or None."""
    group = pwd.getpwuid(user).pw_gid if user != os.geteuid() else os.getegid()
    for directory in reversed(path.parents):
        found = directory.stat()
        shift = 6 if found.st_uid == user else 3 if found.st_gid == group else 0
        if not found.st_mode >> shift & 0o1:
            return directory
    return None


def make_passable(directory: Path) -> None:
    """Make a directory and what is missing above it; root's open to the server's user.

    Raises:
        OSError: it cannot be made.
    """
    for missing in reversed([p for p in (directory, *directory.parents) if not p.exists()]):
        missing.mkdir(exist_ok=True)
        if os.geteuid() == 0:
            missing.chmod(0o755)  # whatever our umask: the server's user must pass


def temporary_directory(prefix: str) -> Path:
    """Make a temporary directory that the server's user can enter, and return it.

    That of the environment (TMPDIR) if that user gets there: libpam-tmpdir gives root a closed one.

    Raises:
        OSError: it cannot be made.
    """
    usual = Path(tempfile.gettempdir()).resolve()
    user = server_user()
    open_to_it = (place for place in (usual, *SYSTEM_TEMPORARY) if _enters(place, user))
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=next(open_to_it, usual)))
    made.chmod(0o755)
    return made


def _enters(directory: Path, user: int) -> bool:
    return directory.is_dir() and closed_directory(directory / "below", user) is None
