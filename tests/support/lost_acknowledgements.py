"""Commits whose acknowledgement is lost: by a port that forgets, and by a proxy that cuts."""

import select
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jobledger.core.errors import LedgerUnavailable
from jobledger.core.ports.event_store import AppendResult, EventStore, StreamAppend


class ForgetfulStore:
    """An event store whose first append takes place and is reported lost."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._forgets = True

    def append(self, batch: Sequence[StreamAppend]) -> Sequence[AppendResult]:
        """Append; raise after the first commit."""
        results = self._store.append(batch)
        if self._forgets:
            self._forgets = False
            raise LedgerUnavailable("the answer was lost")
        return results


class CuttingProxy:
    """A TCP proxy that passes everything on until it is told to swallow one answer and hang up."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._cut_next_answer = threading.Event()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()
        self.port: int = self._listener.getsockname()[1]

    def cut_next_answer(self) -> None:
        """Swallow what the server says next, and hang up on both."""
        self._cut_next_answer.set()

    def stop(self) -> None:
        """End all connections."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(30)
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            if not select.select([self._listener], [], [], 0.05)[0]:
                continue
            client, _ = self._listener.accept()
            thread = threading.Thread(target=self._pass_on, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            while not self._stopped.is_set():
                for source in select.select([client, server], [], [], 0.05)[0]:
                    chunk = source.recv(65536)
                    if not chunk:
                        return
                    if source is server and self._cut_next_answer.is_set():
                        self._cut_next_answer.clear()
                        return
                    (server if source is client else client).sendall(chunk)


@contextmanager
def cutting_proxy(host: str, port: int) -> Iterator[CuttingProxy]:
    """Run a proxy in front of a server."""
    proxy = CuttingProxy(host, port)
    try:
        yield proxy
    finally:
        proxy.stop()
