"""Tells that a long-running command is ready; turns SIGTERM and SIGINT into its orderly stop.

An Event that a handler sets is not enough. Python runs handlers in the main thread only, and one
that is just falling asleep, or whose signal another thread was given, sleeps on.

They are taken once all is read and before a thread is started. Until then they end the command as
any other, at once: what a start waits for (a pipe as kubeconfig, an API server) may never come.
"""

import signal
import socket
from pathlib import Path

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import fail
from jobledger.adapters.files.written_once import in_place_of

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Takes the signals from now on. To be made in the main thread, once."""

    def __init__(self) -> None:
        self._heard, self._told = socket.socketpair()
        self._told.setblocking(False)
        signal.set_wakeup_fd(self._told.fileno(), warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            signal.signal(number, lambda *_: None)  # its number has been written to the socket

    def wait(self) -> None:
        """Return once one of them has come, which may have been before."""
        while self._heard.recv(1)[0] not in STOP_SIGNALS:
            pass


def tell_ready(file: Path | None, url: str) -> None:
    """Write the address into the file, if one was named: whole, since somebody waits for it.

    Ends with a message if it cannot be written.
    """
    if file is None:
        return
    try:
        with in_place_of(file) as fresh:
            fresh.write_text(url, encoding="utf-8")
    except OSError as error:
        fail(f"--ready-file {file} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)
