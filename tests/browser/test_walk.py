"""The questions of `docs/howto/investigate-a-failed-job.md`, with the mouse alone."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.browser.conftest import Tabs
from tests.browser.screenshots import filled, serving
from tests.browser.walk import walked

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(engine: Engine, ledger_url: str) -> Iterator[str]:
    """The address of pages on a ledger of failed jobs, of which one goes on."""
    filled(engine)
    with serving(ledger_url, engine) as (address, _):
        yield address


def test_every_question_is_answered_by_mouse(url: str, tabs: Tabs) -> None:
    walk = walked(tabs(), url, reports=2)
    assert walk.left_out == ["a second page of jobs", "two attempts to compare"]
