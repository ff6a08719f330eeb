"""Runs something in a thread of its own as long as something else goes on."""

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def meanwhile(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Have `work` done meanwhile, which is to end once the event that it is given is set."""
    stopped = threading.Event()
    thread = threading.Thread(target=work, args=(stopped,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
