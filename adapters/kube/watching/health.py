"""The figures that a watch reports for health checks and metrics."""

from dataclasses import dataclass

from jobledger.core.values.instants import Instant


@dataclass(slots=True)
class WatchHealth:
    """How a watch is doing. Written by its thread only; others may read at any time."""

    synced: bool = False
    """Whether all that exists has been told and no new list is due."""
    last_contact: Instant | None = None
    """When the API server last said anything to this watch."""
    resource_version: str = ""
    """Where the watch would be resumed."""
    relists: int = 0
    """How often everything was listed anew after the first time."""
    events: int = 0
    """Changes told since the start, lists not counted."""
    listener_failures: int = 0
    """How often the listener raised; what it was told then is lost to it."""
    last_error: str = ""
    """Why the watch ended otherwise than it should; empty since the server said anything again."""
    pause_seconds: float = 0.0
    """The pause it is making before the next try; 0 while it makes none."""
