"""A claim as a Lease: what is written can be read, and what is missing means the safe side."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jobledger.core.claims.leases import (
    DURATION_MAX,
    SHOWN_MAX,
    claim_of,
    duration_of,
    is_recent,
    manifest_of,
)
from jobledger.core.claims.rule import Claim, Standing
from jobledger.core.values.documents import Json, Manifest
from tests.support.records import NOON

CLAIM = Claim(
    name="jobledger-a",
    owner="replica-a/1",
    since="2026-01-01T12:00:00.000000Z",
    standing=Standing.WAITING,
    database="7/1/5/public",
    origin="aa",
    position=100,
    namespaces=("team-a", "team-b"),
    kinds=("RayJob",),
)
UNSAID = Claim(
    name="",
    owner="",
    since="",
    standing=Standing.ACTING,
    database="",
    kinds=("RayJob", "TrainJob", "Job"),
)


def annotated(name: str, value: Json) -> Manifest:
    return {"metadata": {"annotations": {f"jobledger.dev/{name}": value}}}


@pytest.mark.parametrize("standing", list(Standing))
def test_what_is_written_is_read(standing: Standing) -> None:
    claim = replace(CLAIM, standing=standing)
    assert claim_of(manifest_of(claim, "jobledger", 15, NOON)) == claim


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        pytest.param({}, UNSAID, id="nothing: it acts, everywhere, on all kinds"),
        pytest.param(
            {"metadata": {"name": "x"}, "spec": {"holderIdentity": "y/1"}},
            replace(UNSAID, name="x", owner="y/1"),
            id="names",
        ),
        pytest.param(annotated("standing", "Asleep"), UNSAID, id="a standing nobody knows: acts"),
        pytest.param(annotated("log-position", "-5"), UNSAID, id="a position below nothing"),
        pytest.param(annotated("log-position", "٣"), UNSAID, id="a position in other digits"),
        pytest.param(annotated("log-position", "7"), replace(UNSAID, position=7), id="a position"),
        pytest.param(
            annotated("namespaces", ",a,,b"), replace(UNSAID, namespaces=("a", "b")), id="commas"
        ),
        pytest.param(annotated("kinds", ","), UNSAID, id="no kind at all: all"),
        pytest.param(
            annotated("database", "\x1b[2Jx" + "y" * SHOWN_MAX),
            replace(UNSAID, database="�[2Jx" + "y" * (SHOWN_MAX - 5)),
            id="escapes and length are bounded",
        ),
        pytest.param(
            {"spec": {"holderIdentity": "a\nb"}}, replace(UNSAID, owner="a�b"), id="a line's end"
        ),
    ],
)
def test_what_is_not_said_means_the_safe_side(manifest: Manifest, expected: Claim) -> None:
    assert claim_of(manifest) == expected


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, 15.0),
        ("60", 15.0),
        (-1, 1.0),
        (0, 1.0),
        (60, 60.0),
        (DURATION_MAX, 300.0),
        (DURATION_MAX + 1, 300.0),
        (2**63, 300.0),
    ],
)
def test_how_long_a_claim_holds_is_bounded(given: Json, seconds: float) -> None:
    assert duration_of({"spec": {"leaseDurationSeconds": given}}) == seconds


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        pytest.param(timedelta(seconds=-60), True, id="by a clock that is ahead"),
        pytest.param(timedelta(0), True, id="now"),
        pytest.param(timedelta(seconds=14.9), True, id="within its duration"),
        pytest.param(timedelta(seconds=15), False, id="as old as its duration"),
        pytest.param(timedelta(days=9), False, id="left behind"),
    ],
)
def test_a_claim_holds_while_it_is_renewed(age: timedelta, *, expected: bool) -> None:
    assert is_recent(manifest_of(CLAIM, "jobledger", 15, NOON), NOON + age) is expected


def test_a_claim_without_an_instant_does_not_hold() -> None:
    assert not is_recent({"spec": {"renewTime": "soon", "leaseDurationSeconds": 300}}, NOON)
