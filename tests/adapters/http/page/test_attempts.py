"""Two attempts of a job side by side: each thing about them, and what differs."""

import re
from collections.abc import Iterator

import pytest

from tests.support import rayjob_stories as stories
from tests.support.pages import PAGE, Pages, empty_pages, serving
from tests.support.rayjob_builders import manifest
from tests.support.recorded import append_lives
from tests.support.train_lives import LOG_DIGEST, captured


def edited() -> stories.Story:
    """Return a job that is edited after its first failure, of which a log was kept."""
    return (
        *stories.seen(backoff_limit=3),
        *stories.built(1),
        *stories.readied(1),
        *stories.failing(1),
        captured(42.5),
        manifest(42.6, generation=2, backoff_limit=3),
        *stories.cleared(1),
        *stories.built(2),
        *stories.readied(2),
        *stories.failing(2),
    )


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, tuple[str, str, str]]]:
    """What is beside each other: thing -> class of its row, then both values as HTML."""
    made = empty_pages()
    append_lives(made.ledger, {"edited": edited}.items())
    with serving(made) as served:
        yield beside(served, first=1, second=2)


def beside(served: Pages, first: int, second: int) -> dict[str, tuple[str, str, str]]:
    """Return the table of two attempts."""
    query = f"here={served.stream('edited')}&attempt={first}&other={second}"
    told = served.ask(f"{PAGE}/compare?{query}").data.decode()
    row = r'<tr(?: class="(differs)")?><th scope="row">(.*?)</th>'
    row += 2 * "<td[^>]*>(.*?)</td>" + "</tr>"
    found = re.findall(row, told, re.DOTALL)
    return {re.sub("<.*?>", "", what): (how, here, there) for how, what, here, there in found}


@pytest.mark.parametrize(
    ("what", "how", "here", "there"),
    [
        ("outcome", "", "failed", "failed"),
        ("cause", "differs", "missing-file", "application"),
        ("reason", "", "AppFailed", "AppFailed"),
        ("starting", "", "11.0 s", "11.0 s"),
        ("ran", "", "28.0 s", "28.0 s"),
        ("started", "differs", "12:00:00 UTC", "12:01:40 UTC"),
        ("generation", "differs", "1", "2"),
        ("logs", "differs", LOG_DIGEST, "none"),
        ("spec.entrypoint", "differs", "python train.py 1", "python train.py 2"),
    ],
)
def test_each_thing_stands_beside_that_of_the_other(
    rows: dict[str, tuple[str, str, str]], what: str, how: str, here: str, there: str
) -> None:
    marked, first, second = rows[what]
    assert marked == how
    assert here in first
    assert there in second
