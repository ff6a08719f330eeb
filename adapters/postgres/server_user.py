"""As whom does the private server run, and can that user get to a file?

Postgres refuses to run as root. Root's server runs as `nobody`, which has a passwd entry on every
machine (initdb needs one); nothing on the machine is changed to make that work.
"""

import os
import pwd
import sys
from pathlib import Path

from core.errors import LedgerMisconfigured

LAUNCHER = Path(__file__).with_name("launcher.py")


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
    return [
        sys.executable,
        "-I",
        "-S",
        str(LAUNCHER),
        str(os.getpid()),
        str(server_user()),
        *command,
    ]


def closed_directory(path: Path, user: int) -> Path | None:
    """Return the first directory on the way to `path` that `user` cannot pass, or None."""
    group = pwd.getpwuid(user).pw_gid if user != os.geteuid() else os.getegid()
    for directory in reversed(path.parents):
        found = directory.stat()
        shift = 6 if found.st_uid == user else 3 if found.st_gid == group else 0
        if not found.st_mode >> shift & 0o1:
            return directory
    return None
