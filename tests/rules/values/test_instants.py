"""Instants in the forms of Kubernetes, Ray, Go and HTTP."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from jobledger.core.values.instants import (
    LAST,
    from_milliseconds,
    go_date_time,
    go_time,
    later,
    parse_http_date,
    parse_rfc3339,
    rfc3339,
)

MAY = datetime(2024, 5, 1, 12, 0, 7, 891_234, tzinfo=UTC)
IN_INDIA = MAY.astimezone(timezone(timedelta(hours=5, minutes=30)))


@pytest.mark.parametrize("instant", [MAY, IN_INDIA])
def test_an_instant_is_written_in_utc_whatever_its_zone(instant: datetime) -> None:
    assert rfc3339(instant) == "2024-05-01T12:00:07Z"
    assert go_time(instant) == "2024-05-01 12:00:07 +0000 UTC"
    assert go_date_time(instant) == "2024-05-01 12:00:07"


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-05-01T12:00:07Z", MAY.replace(microsecond=0)),
        ("2024-05-01T12:00:07.891234Z", MAY),
        ("2024-05-01T17:30:07+05:30", MAY.replace(microsecond=0)),
        ("2024-05-01T12:00:07", None),
        ("2024-05-01", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_reading_an_instant(text: str, instant: datetime | None) -> None:
    """What has no zone names no instant."""
    assert parse_rfc3339(text) == instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("Wed, 01 May 2024 12:00:07 GMT", MAY.replace(microsecond=0)),
        ("Wed, 01 May 2024 12:00:07 -0000", None),
        ("Wed, 01 May 99999999999999999999 12:00:07 GMT", None),
        ("Wed, 01 May 2024 12:00:07 +99999999999999999999", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_date_in_a_header(text: str, instant: datetime | None) -> None:
    assert parse_http_date(text) == instant


def test_what_is_written_can_be_read() -> None:
    assert parse_rfc3339(rfc3339(MAY)) == MAY.replace(microsecond=0)


@pytest.mark.parametrize(
    ("milliseconds", "instant"),
    [
        (1_714_564_807_891, MAY.replace(microsecond=891_000)),
        (0, None),
        (-5, None),
        (10**20, None),
    ],
)
def test_rays_milliseconds(milliseconds: int, instant: datetime | None) -> None:
    """0 is Ray's way to say that there is none."""
    assert from_milliseconds(milliseconds) == instant


def test_early_years_keep_their_zeros() -> None:
    """Kubernetes refuses a year of one digit."""
    assert rfc3339(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"


def test_what_is_later_than_all_dates_is_the_last_one() -> None:
    assert later(MAY, timedelta(seconds=1)) == MAY + timedelta(seconds=1)
    assert later(LAST, timedelta(seconds=1)) == LAST
