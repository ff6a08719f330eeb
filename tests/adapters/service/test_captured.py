"""What has come of a capture, once its time is over."""

from datetime import UTC, datetime

from jobledger.adapters.service.evidence.captured import Found, RawLog, kept_logs
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.values.instants import Instant

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = b"a key that only tests have......"


class Interrupted(EvidenceStore):
    """A store whose connection breaks at the first piece."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self._breaks = True

    def put(self, content: bytes, at: Instant) -> str:
        del at
        if self._breaks:
            self._breaks = False
            raise LedgerUnavailable("the connection was reset")
        self.kept.append(content)
        return "digest"

    def get(self, digest: str) -> bytes | None:
        del digest
        return None


def test_a_log_that_cannot_be_kept_is_missing_and_the_rest_is_told() -> None:
    found, store = Found(), Interrupted()
    found.logs = [
        RawLog("driver", "", "first", cut=False),
        RawLog("head", "ray", "last", cut=False),
    ]
    kept = list(kept_logs(found, Redactor(KEY, frozenset()), store, NOON))
    assert [log.source for log in kept] == ["head"]
    assert store.kept == [b"last"]
    assert found.missing == {"log of driver": "the connection was reset"}
