"""How a watch is doing, as it says itself."""

from dataclasses import dataclass


@dataclass(slots=True)
class WatchHealth:
    """How a watch is doing. Written by its thread only; others may read at any time."""

    synced: bool = False
    """Whether all that exists has been told and no new list is due."""
    resource_version: str = ""
    """Where the watch would be resumed."""
    relists: int = 0
    """How often everything was listed anew after the first time."""
    last_error: str = ""
    """Why the watch ended otherwise than it should; empty since the server said anything again."""
    pause_seconds: float = 0.0
    """The pause it is making before the next try; 0 while it makes none."""
