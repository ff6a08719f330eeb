"""The pages on a ledger with some jobs."""

from collections.abc import Iterator

import pytest

from jobledger.adapters.http.page import listing
from tests.support import rayjob_stories as stories
from tests.support.pages import Pages, empty_pages, serving
from tests.support.recorded import append_lives


def filled() -> Pages:
    """Return pages of a ledger with seven jobs."""
    made = empty_pages()
    lives = {f"done-{number}": stories.succeeded for number in range(4)}
    append_lives(made.ledger, lives.items())
    failed = {"failed": lambda: (*stories.working(), *stories.failing())}
    append_lives(made.ledger, failed.items())
    waits = {"waits": lambda: (*stories.working(backoff_limit=3), *stories.failing())}
    append_lives(made.ledger, waits.items())
    append_lives(made.ledger, {"open": stories.initializing}.items())
    return made


@pytest.fixture(autouse=True)
def _wait_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, pages come with their counts."""
    monkeypatch.setattr(listing, "COUNTS_PATIENCE", 60.0)


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    """The pages as they are served on loopback."""
    with serving(filled()) as served:
        yield served
