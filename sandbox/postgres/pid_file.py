"""Parses the server's `postmaster.pid`.

Source: PostgreSQL, src/include/utils/pidfile.h (lines of the file; since version 10).
"""

from pathlib import Path

LINE_PID = 0
LINE_STATUS = 7


def pid_in(pid_file: Path) -> int | None:
    """Return the process id that the file names, or None. It may be stale."""
    first = _line(pid_file, LINE_PID)
    return int(first) if first.isdigit() else None


def says_ready(pid_file: Path, pid: int) -> bool:
    """Return whether the file is this server's and says that it accepts connections."""
    return pid_in(pid_file) == pid and _line(pid_file, LINE_STATUS) == "ready"


def says_stopping(pid_file: Path, pid: int) -> bool:
    """Return whether the file is this server's and says that it is shutting down."""
    return pid_in(pid_file) == pid and _line(pid_file, LINE_STATUS) == "stopping"


def _line(pid_file: Path, number: int) -> str:
    """Return one line of the file, or an empty one if it is not there."""
    try:
        lines = pid_file.read_text().split("\n")
    except OSError:
        return ""
    return lines[number].strip() if number < len(lines) else ""
