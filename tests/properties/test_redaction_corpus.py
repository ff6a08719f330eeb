"""How many secrets are missed and how many words are hidden, in texts that people marked."""

from pathlib import Path

import pytest

from tests.support.redaction_corpus import Count, counted, texts

PARTS = (
    *("credentials", "known_values", "tracebacks", "cluster", "logs_and_http"),
    *("second_held_out", "third_held_out", "told_and_typed"),
)
"""What the rules were made with; two parts were held out until their first run."""
HELD_OUT = "held_out"
"""Written when the rules were done."""
TEXTS_MIN = 300
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "redaction.md"


@pytest.mark.parametrize("part", PARTS)
def test_of_the_corpus_nothing_is_missed_and_nothing_is_hidden_that_is_no_secret(part: str) -> None:
    wrong = {text.title: found for text in texts(part) if (found := counted(text)) != Count((), ())}
    assert wrong == {}


def figures(parts: tuple[str, ...]) -> str:
    """Return the row of a table."""
    all_texts = [text for part in parts for text in texts(part)]
    counts = [counted(text) for text in all_texts]
    cells = (
        len(all_texts),
        sum(len(text.secrets) for text in all_texts),
        sum(len(count.missed) for count in counts),
        sum(len(count.hidden) for count in counts),
    )
    return " | ".join(str(cell) for cell in cells)


def test_the_page_says_how_often_the_redactor_is_wrong() -> None:
    page = PAGE.read_text()
    assert f"| the corpus | {figures(PARTS)} |" in page
    assert f"| the held-out part, today | {figures((HELD_OUT,))} |" in page


def test_the_corpus_is_large_and_its_texts_differ() -> None:
    all_texts = [text for part in PARTS for text in texts(part)]
    assert len(all_texts) >= TEXTS_MIN
    assert len({text.whole for text in all_texts}) == len(all_texts)
    assert sum(bool(text.secrets) for text in all_texts) >= TEXTS_MIN // 3


def test_a_count_sees_a_secret_that_is_left_and_a_word_that_is_gone() -> None:
    """Else it could say nothing but nought."""
    (kept,) = (text for text in texts("held_out") if text.title == "kaggle json")
    assert counted(kept).missed == kept.secrets
