"""Explain's first sentence answers every failure of the corpus, and the docs say how many."""

from collections import Counter
from functools import cache
from pathlib import Path

from tests.failure_corpus.__main__ import table
from tests.failure_corpus.cases import causes, failures
from tests.failure_corpus.judging import PLACES, Verdict, judged
from tests.failure_corpus.stories import STORIES

CASES_MIN = 150
BLIND_MIN = 30
RIGHT_MIN_PER_CENT = 95
DOCS = Path(__file__).parents[2] / "docs" / "howto" / "investigate-a-failed-job.md"


@cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(judged(case) for case in failures())


def test_every_failure_is_answered_by_its_first_sentence() -> None:
    wrong = [one for one in verdicts() if not one.right and not one.case.missed]
    assert not wrong, [(one.case.title, one.lacks, one.told) for one in wrong]


def test_what_is_listed_as_missed_is_missed() -> None:
    mended = [one.case.title for one in verdicts() if one.right and one.case.missed]
    assert not mended, f"explain answers these now, take `missed` away: {mended}"


def test_the_corpus_is_large_and_is_answered_well() -> None:
    cases = [one.case for one in verdicts()]
    assert len(cases) >= CASES_MIN
    assert sum(1 for case in cases if case.blind) >= BLIND_MIN
    right = sum(1 for one in verdicts() if one.right)
    assert 100 * right >= RIGHT_MIN_PER_CENT * len(cases)


def test_every_case_says_what_an_engineer_would_and_names_what_there_is() -> None:
    cases = [one.case for one in verdicts()]
    titles = Counter(case.title for case in cases)
    assert [title for title, times in titles.items() if times > 1] == []
    assert {case.cites for case in cases} <= set(PLACES)
    assert {case.cause for case in cases} == set(causes())
    told = {(kind, story) for kind, known in STORIES.items() for story in known}
    assert {(case.kind, case.story) for case in cases} == told
    dull = [case.title for case in cases if not case.says.endswith(".") or not case.quote]
    assert dull == []


def test_the_docs_show_the_score_of_this_run() -> None:
    shown = DOCS.read_text(encoding="utf-8")
    assert "\n".join(table(verdicts())) in shown, "python -m tests.failure_corpus prints it"
