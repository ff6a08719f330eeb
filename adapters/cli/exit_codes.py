"""What the exit code of every command means."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Listed in the docs; scripts may rely on them.

    A command whose output nobody reads any more (`jobledger get | head -1`) ends with 141, as a
    shell tells it of a program that SIGPIPE ended: that is no finding. One that Ctrl-C
    ends has 130, one that SIGTERM ends 143.
    """

    OK = 0
    FOUND_WRONG = 1
    """The command worked, and what it checked is not right (verify, replay, import)."""
    USAGE = 2
    """The command line itself is wrong."""
    NOT_FOUND = 3
    """There is no such job."""
    MISCONFIGURED = 4
    """Somebody has to change something: an address, a password, a schema, a right, a full disk."""
    UNAVAILABLE = 5
    """Postgres or the API server cannot be reached now; the same command may work later."""
    REFUSED = 6
    """The API server refused the object or the request."""
