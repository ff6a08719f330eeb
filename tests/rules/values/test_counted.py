"""Counts are told as people say them."""

from jobledger.core.values.counted import counted


def test_one_is_no_plural() -> None:
    assert [counted(count, "seal") for count in (0, 1, 2)] == ["0 seals", "1 seal", "2 seals"]
    assert counted(2, "retry", "retries") == "2 retries"
    assert counted(1234, "event") == "1234 events"
    assert counted(1234, "event", grouped=True) == "1,234 events"
