"""What has come of a capture, once its time is over."""

from datetime import UTC, datetime

import pytest

from jobledger.adapters.service.evidence.captured import LAST_LINES, Found, RawLog, kept_logs
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.evidence.evidence import LOG_BYTES_MAX
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.values.instants import Instant

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = b"a key that only tests have......"


class Interrupted(EvidenceStore):
    """A store whose connection breaks at the first piece."""

    def __init__(self, *, breaks: bool = True) -> None:
        self.kept: list[bytes] = []
        self._breaks = breaks

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


@pytest.mark.parametrize(
    ("end", "kept", "cut"),
    [
        ("\x00" * LOG_BYTES_MAX, "\ufffd" * (LOG_BYTES_MAX // 3), True),
        ("ab4d\n" * (LOG_BYTES_MAX // 5), "", True),
        ("plain\n\n", "plain", False),
    ],
    ids=["what cannot be stored", "a short secret over and over", "blank lines"],
)
def test_what_is_kept_has_its_size_though_it_grew(end: str, kept: str, cut: bool) -> None:
    """A limit in characters, as it was, let three bytes pass for each."""
    found, store = Found(), Interrupted(breaks=False)
    found.logs = [RawLog("driver", "", end, cut=False)]
    (log,) = kept_logs(found, Redactor(KEY, {"ab4d"}), store, NOON)
    (content,) = store.kept
    assert len(content) <= LOG_BYTES_MAX
    assert (log.size, log.cut) == (len(content), cut)
    assert "ab4d" not in content.decode()
    assert content.decode() == kept or not kept
    assert log.last_lines == tuple(content.decode().splitlines()[-LAST_LINES:])
