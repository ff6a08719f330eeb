"""The timeline for people: clock, seconds since the first event, and equal lines as one."""

from datetime import timedelta

import pytest

from jobledger.adapters.cli import output
from jobledger.adapters.cli.story import story_lines
from jobledger.adapters.cli.story.story_lines import Printed, print_lines, runs
from jobledger.core.forensics.story.timeline import Line
from tests.support.records import NOON

STARTING, READY = "RayCluster x is starting", "RayCluster x is ready"


def line(version: int, seconds: float, words: str = STARTING, attempt: int = 1) -> Line:
    at = NOON + timedelta(seconds=seconds)
    return Line(version=version, at=at, attempt=attempt, event="ClusterObserved", words=words)


def printed(capsys: pytest.CaptureFixture[str], *lines: Line) -> list[str]:
    print_lines(lines, Printed())
    return capsys.readouterr().out.splitlines()


def test_a_line_has_the_clock_and_the_seconds_since_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, line(1, 0.25), line(2, 61.5, READY)) == [
        "2026-11-21 (UTC)",
        "  attempt 1",
        f"  12:00:00.250    +0.000 s    1 ClusterObserved        {STARTING}",
        f"  12:01:01.500   +61.250 s    2 ClusterObserved        {READY}",
    ]


def test_what_was_told_by_a_clock_that_is_behind_has_one_sign(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = printed(capsys, line(1, 195.5), line(2, 0, READY))
    assert told[-1] == f"  12:00:00.000  -195.500 s    2 ClusterObserved        {READY}"


def test_a_new_day_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, line(1, 0), line(2, 86_400))
    assert [text for text in told if "(UTC)" in text] == ["2026-11-21 (UTC)", "2026-11-22 (UTC)"]


def test_equal_lines_that_follow_each_other_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, *(line(number, number) for number in range(1, 7)), line(7, 9, READY))
    assert told[2].endswith(f"{STARTING} (and 5 more like it, until 12:00:06.000)")
    assert told[3].endswith(READY)
    assert len(told) == 4


def test_lines_of_two_attempts_are_two() -> None:
    found = list(runs([line(1, 0), line(2, 1, attempt=2), line(3, 2, READY), line(4, 3)]))
    assert [run.count for run in found] == [1, 1, 1, 1]


@pytest.mark.parametrize(("terminal", "cut"), [(True, True), (False, False)])
def test_only_a_terminal_gets_words_cut(
    terminal: bool, cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.console, "_force_terminal", terminal)
    assert (story_lines.line_limit() is not None) is cut
