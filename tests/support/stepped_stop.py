"""The end of a service that is taken step by step."""

import threading
from collections.abc import Callable


class SteppedStop(threading.Event):
    """Whoever waits for the end of the service lets simulated time pass, and none of ours."""

    def __init__(self, pause: Callable[[float], bool]) -> None:
        """Take what lets so many seconds pass, and returns whether the service is to stop."""
        super().__init__()
        self._pause = pause

    def wait(self, timeout: float | None = None) -> bool:
        """Let the time pass; nobody waits for ever."""
        assert timeout is not None, "nobody waits for ever"
        return self._pause(timeout)
