"""Runs a server as another user, and ends it when its parent ends.

A script, run in the new process before the command it becomes; `prctl` and `setuid` are done here
and not in a `preexec_fn`, which is unsafe beside threads.
    launcher.py PARENT_PID USER_ID COMMAND…
"""

import ctypes
import os
import pwd
import signal
import sys

PR_SET_PDEATHSIG = 1
"""Source: prctl(2). The signal is sent when the *thread* that forked this process ends."""


def main(arguments: list[str]) -> None:
    """Become the command: as the given user, with SIGINT (a fast shutdown) at the parent's death.

    Raises:
        OSError: a step was refused; the command does not run.
    """
    parent, user, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    if user != os.geteuid():
        os.setgroups([])
        os.setgid(pwd.getpwuid(user).pw_gid)
        os.setuid(user)
    # After the change of user, which clears it.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != parent:
        return  # it died before the line above: there is nobody left to serve
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; exec would keep that
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(command[0], command)  # noqa: S606 -- no shell is wanted


if __name__ == "__main__":
    main(sys.argv[1:])
