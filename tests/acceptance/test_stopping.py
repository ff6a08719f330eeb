"""A controller stops when it is told to, whichever of its threads the signal is given to."""

import ctypes
import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.site import Site
from tests.support.processes import STOP_SECONDS, Terminal
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", [("run",), ("webhooks", "--port", "0")])
def test_a_signal_ends_a_start_that_waits_for_a_file(
    terminal: Terminal, ledger_url: str, command: tuple[str, ...], number: signal.Signals
) -> None:
    pipe = terminal.directory / "kubeconfig"
    os.mkfifo(pipe)
    named = {"KUBECONFIG": str(pipe), "JOBLEDGER_DATA_DIR": str(terminal.directory)}
    beside = terminal.with_environment(DATABASE_URL=ledger_url, **named)
    process = beside.start(command, terminal.directory / "log")
    try:
        with _written_to(pipe):
            process.send_signal(number)
            assert process.wait(STOP_SECONDS) == 128 + number
    finally:
        process.kill()


@contextmanager
def _written_to(pipe: Path) -> Iterator[None]:
    """Wait until somebody reads from a pipe; give him nothing, and no end."""
    descriptor: int | None = None

    def has_reader() -> bool:
        nonlocal descriptor
        try:
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        return descriptor is not None

    wait_until(has_reader, "somebody reads from the pipe", STOP_SECONDS)
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)
