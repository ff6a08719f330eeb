"""Turns SIGTERM and SIGINT into an orderly stop of a long-running command.

An Event that a handler sets is not enough. Python runs handlers in the main thread only, and one
that is just falling asleep, or whose signal another thread was given, sleeps on.

They are taken once all is read and before a thread is started. Until then they end the command as
any other, at once: what a start waits for (a pipe as kubeconfig, an API server) may never come.
"""

import signal
import socket

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
