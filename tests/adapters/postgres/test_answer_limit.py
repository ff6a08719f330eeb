"""The thread that cuts connections on which nothing comes: what befalls it harms no later wait."""

import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from jobledger.adapters.postgres.connection.answer_limit import AnswerLimit
from tests.support.waiting import LIMIT_SECONDS

STANDARD_FILES = 3
"""Standard input, output and error: open in every process."""


@contextmanager
def silent_line() -> Iterator[socket.socket]:
    """A connection on which nothing ever comes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(LIMIT_SECONDS)
        yield ours


def ask(limit: AnswerLimit, line: Any) -> None:  # noqa: ANN401 what has a file, as a connection has
    """Wait for an answer as a driver does."""
    with limit.waiting(line):
        assert line.recv(1) == b"", "an end is all that can come"
        raise psycopg.OperationalError("server closed the connection unexpectedly")


def assert_cut(limit: AnswerLimit, line: socket.socket) -> None:
    with pytest.raises(psycopg.OperationalError, match="the connection was cut"):
        ask(limit, line)


@contextmanager
def out_of_files() -> Iterator[None]:
    """No file can be opened: none is free below the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (STANDARD_FILES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_are_cut_while_no_file_is_left_and_afterwards() -> None:
    limit = AnswerLimit(0.2)
    with silent_line() as line, silent_line() as later:
        with out_of_files():
            with pytest.raises(OSError, match="Too many open files"):
                socket.socket()
            assert_cut(limit, line)
        assert_cut(limit, later)


def test_a_connection_that_was_closed_meanwhile_harms_no_other() -> None:
    limit = AnswerLimit(0.2)

    class Closed:
        def fileno(self) -> int:
            return -1

    with silent_line() as line, limit.waiting(Closed()):  # type: ignore[arg-type]  # what has a file
        assert_cut(limit, line)


def test_a_thread_that_could_not_be_started_is_started_for_the_next_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = AnswerLimit(0.2)
    start: Callable[[threading.Thread], None] = threading.Thread.start

    def refused(_: threading.Thread) -> None:
        monkeypatch.setattr(threading.Thread, "start", start)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with silent_line() as line:
        with limit.waiting(line):  # type: ignore[arg-type]  # what has a file
            pass
        assert_cut(limit, line)
