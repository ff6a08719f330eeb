"""A controller stops when it is told to, whichever of its threads the signal is given to."""

import ctypes
import os
import signal
from pathlib import Path

import pytest

from tests.acceptance.site import Site
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_heard_that_interrupts_another_thread_than_the_main_one(
    site: Site, number: signal.Signals
) -> None:
    """The main thread sleeps on then, as it does if it was just falling asleep."""
    with site.controller() as controller:
        others = sorted(int(task.name) for task in Path(f"/proc/{controller.pid}/task").iterdir())
        other = next(task for task in others if task != controller.pid)
        given = ctypes.CDLL(None, use_errno=True).tgkill(controller.pid, other, int(number))
        assert given == 0, os.strerror(ctypes.get_errno())
        wait_until(lambda: not controller.running, "the controller stops")
        assert '"stopped"' in controller.log.splitlines()[-1]
