"""The table of upstream's cases on docs/compatibility.md."""

from pathlib import Path

import pytest

from tests.node.__main__ import CannotStart
from tests.node.build import SOURCE, release
from tests.node.layout import Layout
from tests.node.suite.__main__ import alone, chosen_cases, reasons
from tests.node.suite.cases import Case
from tests.node.suite.results import NOTHING, ROW, rows, section, with_section, written
from tests.node.suite.verdicts import CANNOT_APPLY, FAILED, NOT_RUN, PASSED, Seen
from tests.operators.results import PAGE

RETRY = Case("TestRayJobRetry", "Failing RayJob")
STAGES = Case("TestDeletionStrategy", "Stages: Workers->Self|all *now*")
OTHER = Case("TestRayJob", "Successful RayJob")
ALL = [RETRY, STAGES, OTHER]
EMPTY = "# Page\n\n| a | b |\n\n## What was not run\n\n* this\n"
OLD = {"KubeRay": "v1"}


def test_every_case_has_a_row_and_what_did_not_run_is_not_passed() -> None:
    """With the day on which it did not."""
    seen = [
        Seen(RETRY, PASSED, "2026-11-23", 90.0),
        Seen(STAGES, FAILED, "2026-11-23", 9.0, "x_test.go:1: <a>|b"),
    ]
    text = written(ALL, seen, OLD, "2026-11-23", EMPTY)
    assert rows(text) == {
        RETRY: Seen(RETRY, PASSED, "2026-11-23"),
        STAGES: Seen(STAGES, FAILED, "2026-11-23", why="x_test.go:1: <a>|b"),
        OTHER: Seen(OTHER, NOT_RUN, "2026-11-23"),
    }
    assert "Of 3 cases: 1 passed, 1 failed, 1 not run." in text


def test_rows_of_cases_that_did_not_run_now_stay_with_their_day() -> None:
    """Unless other programs ran then: what was seen of these says nothing."""
    first = written(ALL, [Seen(RETRY, PASSED, "2026-11-22")], OLD, "2026-11-22", EMPTY)
    before = with_section(EMPTY, first)
    again = [Seen(OTHER, CANNOT_APPLY, "2026-11-23", why="no docker")]
    same = rows(written(ALL, again, OLD, "2026-11-23", before))
    assert same[RETRY] == Seen(RETRY, PASSED, "2026-11-22")
    assert same[STAGES] == Seen(STAGES, NOT_RUN, "2026-11-22")
    assert same[OTHER] == Seen(OTHER, CANNOT_APPLY, "2026-11-23", why="no docker")
    newer = rows(written(ALL, again, {"KubeRay": "v2"}, "2026-11-23", before))
    assert newer[RETRY] == Seen(RETRY, NOT_RUN, "2026-11-23")


def test_a_later_verdict_takes_the_place_of_an_earlier_one() -> None:
    """Also the worse one."""
    first = written(ALL, [Seen(RETRY, PASSED, "2026-11-22")], OLD, "2026-11-22", EMPTY)
    now = [Seen(RETRY, FAILED, "2026-11-23", why="it did not end in time")]
    text = written(ALL, now, OLD, "2026-11-23", with_section(EMPTY, first))
    assert rows(text)[RETRY] == now[0]


def test_the_rest_of_the_page_stays() -> None:
    """The section is put before what was not run, and is replaced from then on."""
    once = with_section(EMPTY, NOTHING)
    text = written(ALL, [], OLD, "2026-11-23", once)
    twice = with_section(once, text)
    assert twice == EMPTY.replace("## What was not run", f"{text}## What was not run")
    assert section(twice) == text
    assert section(EMPTY) == NOTHING


def test_cases_are_chosen_by_a_part_of_their_names() -> None:
    """In any case of letters; without any, all are."""
    assert chosen_cases(ALL, []) == ALL
    assert chosen_cases(ALL, ["testrayjobretry/", "successful"]) == [RETRY, OTHER]
    assert chosen_cases(ALL, ["nothing"]) == []


def test_a_reason_for_a_case_that_is_not_there_is_refused() -> None:
    """A case that upstream has renamed would run, and its reason would stay for ever."""
    assert reasons(ALL, {OTHER.full: "needs docker"}) == {OTHER: "needs docker"}
    with pytest.raises(ValueError, match="TestRayJob/Gone"):
        reasons(ALL, {"TestRayJob/Gone": "needs docker"})


def test_two_runs_do_not_share_a_node(tmp_path: Path) -> None:
    """Each would start controllers of its own, and what both did would be neither's verdict."""
    places = Layout(tmp_path / "cache")
    with alone(places), pytest.raises(CannotStart, match="Another run"), alone(places):
        pass
    with alone(places):
        pass


def test_the_page_has_what_a_run_saw() -> None:
    """Of the release that is built, each case once, and no failure without a word of it."""
    text = section(PAGE.read_text(encoding="utf-8"))
    assert f"`{SOURCE}` {release()}" in text
    found = rows(text)
    assert len(found) == len(ROW.findall(text))
    assert any(item.verdict == PASSED for item in found.values())
    assert all(item.why for item in found.values() if item.verdict in (FAILED, CANNOT_APPLY))
