"""The twenty prepared failures are told as the page has them, each by its own class."""

import re
from collections.abc import Sequence

import pytest

from tests.failure_corpus.twenty.filling import fill
from tests.failure_corpus.twenty.jobs import TITLES, twenty
from tests.failure_corpus.twenty.page import PAGE, page
from tests.support.ledgers import app_engine
from tests.support.processes import Terminal

pytestmark = pytest.mark.postgres

LEADS_ON = re.compile("^(the whole log|no log was kept).*: jobledger ")
"""The line that ends an answer: what shows the whole of what it was told by."""

KINDS_MIN = 5
"""So many jobs of each kind at least."""


@pytest.fixture
def prepared(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at the ledger that has the twenty."""
    with app_engine(ledger_url) as engine:
        fill(engine)
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_a_newcomer_is_led_to_each_answer_and_the_page_is_what_is_printed(
    prepared: Terminal,
) -> None:
    """By what is printed alone: the list names `explain`, and that names what shows the log."""
    printed: dict[str, str] = {}

    def run(arguments: Sequence[str]) -> tuple[str, str]:
        told = prepared.jobledger(*arguments)
        printed[" ".join(arguments)] = told.out
        return told.out, told.err

    made = page(run)
    assert PAGE.read_text() == made, "run `python -m tests.failure_corpus.twenty --page`"
    assert "\nwhy one of them failed: jobledger explain " in made
    for one in twenty():
        namespace = "data" if one.case.kind == "Job" else "ml"
        told = printed[f"explain {namespace}/{one.name}"]
        assert f"\nfailure class {one.case.failure_class}" in told, one.name
        (leads_on,) = [line for line in told.splitlines() if LEADS_ON.search(line)]
        assert prepared.jobledger(*leads_on.partition(": jobledger ")[2].split()).out


def test_there_are_twenty_and_five_of_each_kind() -> None:
    kinds = [one.case.kind for one in twenty()]
    assert len(TITLES) == len(set(TITLES.values())) == len(kinds) == 20
    assert min(kinds.count(kind) for kind in ("RayJob", "TrainJob", "Job")) >= KINDS_MIN
