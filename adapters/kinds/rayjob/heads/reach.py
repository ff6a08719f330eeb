"""Says it in the log when no Ray head answers any more: the way to them may be closed."""

import threading

from jobledger.adapters.telemetry.logging import get_logger

log = get_logger(__name__)

UNANSWERED_MAX = 5
"""So many questions in a row, of whichever heads, may go without an answer."""

REMEDY = (
    "if these heads run, open the way to their port 8265: cluster DNS, JOBLEDGER_CLUSTER_DOMAIN, "
    "NetworkPolicies; outside of the cluster HTTP_PROXY"
)


class Reach:
    """Counts the questions since the last answer of any head. Safe to call from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unanswered = 0

    def answered(self) -> None:
        """Take note that a head has answered."""
        with self._lock:
            was_told, self._unanswered = self._unanswered >= UNANSWERED_MAX, 0
        if was_told:
            log.info("ray_heads_answer")

    def unanswered(self, trouble: str) -> None:
        """Take note that a head has not; say it once, until one answers."""
        with self._lock:
            self._unanswered += 1
            is_news = self._unanswered == UNANSWERED_MAX
        if is_news:
            log.warning("ray_heads_silent", questions=UNANSWERED_MAX, error=trouble, remedy=REMEDY)
