"""What a Pod may post of its progress."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobledger.core.trainjob.reports import ReportRefused, is_outdated, read_report

WHEN = "2026-11-21T12:00:00Z"
METRIC = {"name": "loss", "value": "0.25"}


def body(**fields: object) -> Any:  # noqa: ANN401 as JSON comes
    """Return a body whose report has these fields."""
    return {"trainerStatus": {"lastUpdatedTime": WHEN, **fields}}


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({}, None),
        ({"trainerStatus": None}, None),
        ({"other": 1}, None),
        (body(), {"lastUpdatedTime": WHEN}),
        (
            body(progressPercentage=0, estimatedRemainingSeconds=2**31 - 1, metrics=[METRIC]),
            {
                "progressPercentage": 0,
                "estimatedRemainingSeconds": 2**31 - 1,
                "metrics": [METRIC],
                "lastUpdatedTime": WHEN,
            },
        ),
        (body(progressPercentage=None, metrics=None, unknown=1), {"lastUpdatedTime": WHEN}),
        (body(lastUpdatedTime="2026-11-21T13:00:00+01:00"), {"lastUpdatedTime": WHEN}),
        (
            body(metrics=[{"name": "n\x00", "value": "NaN"}]),
            {"metrics": [{"name": "n\ufffd", "value": "NaN"}], "lastUpdatedTime": WHEN},
        ),
        (body(metrics=[METRIC] * 256), {"metrics": [METRIC] * 256, "lastUpdatedTime": WHEN}),
    ],
)
def test_what_is_taken(given: Any, taken: object) -> None:  # noqa: ANN401 as JSON comes
    assert read_report(given) == taken


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "must be a JSON object"),
        ({"trainerStatus": []}, "trainerStatus must be an object"),
        ({"trainerStatus": {}}, "lastUpdatedTime is required"),
        (body(lastUpdatedTime="soon"), "lastUpdatedTime is required"),
        (body(progressPercentage=101), "progressPercentage must be a whole number from 0 to 100"),
        (body(progressPercentage=-1), "from 0 to 100"),
        (body(progressPercentage=True), "from 0 to 100"),
        (body(progressPercentage=1.5), "from 0 to 100"),
        (body(progressPercentage="1"), "from 0 to 100"),
        (body(estimatedRemainingSeconds=2**63), "from 0 to 2147483647"),
        (body(metrics={}), "metrics must be a list"),
        (body(metrics="loss"), "metrics must be a list"),
        (body(metrics=[METRIC] * 257), "more than 256 entries"),
        (body(metrics=[METRIC, {"name": "x"}]), "metrics[1].value must be a text of 1 to 64"),
        (body(metrics=[{"name": "", "value": "1"}]), "metrics[0].name"),
        (body(metrics=[{"name": "x" * 65, "value": "1"}]), "metrics[0].name"),
        (body(metrics=[{"name": "x", "value": 1}]), "metrics[0].value"),
        (body(metrics=[None]), "metrics[0].name"),
    ],
)
def test_what_is_refused_and_why(given: Any, says: str) -> None:  # noqa: ANN401 as JSON comes
    with pytest.raises(ReportRefused) as refused:
        read_report(given)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("report", "shown", "outdated"),
    [
        (":01Z", ":03Z", True),
        (":03Z", ":01Z", False),
        (":01Z", ":01Z", False),
        (":01Z", "", False),
        (":01Z", "soon", False),
        (":01Z", ":03+01:00", False),
        ("", ":03Z", False),
    ],
)
def test_a_report_is_outdated_if_a_newer_one_is_shown(
    report: str, shown: str, outdated: bool
) -> None:
    when = [f"2026-11-21T12:00{at}" if at.startswith(":") else at for at in (report, shown)]
    told, before = ({"lastUpdatedTime": at} for at in when)
    assert is_outdated(told, before, datetime(2026, 11, 21, 12, 1, tzinfo=UTC)) is outdated


@pytest.mark.parametrize(
    ("shown", "outdated"),
    [("12:01:00", True), ("12:01:01", False), ("23:59:59", False)],
)
def test_what_is_shown_of_a_time_to_come_makes_nothing_old(shown: str, outdated: bool) -> None:
    noon = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    before = {"lastUpdatedTime": f"2026-11-21T{shown}Z"}
    assert is_outdated({"lastUpdatedTime": WHEN}, before, noon) is outdated
    last = {"lastUpdatedTime": "9999-12-31T23:59:59Z"}
    assert not is_outdated({"lastUpdatedTime": WHEN}, last, noon)
