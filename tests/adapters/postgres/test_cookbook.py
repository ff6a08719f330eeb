"""The cookbook: its page is what the sample data answer, and it keeps to the documented views."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from bench.sample import END
from docs.cookbook.page import answered, page
from docs.cookbook.pictures import PICTURES, TERMINAL
from docs.cookbook.queries import documented_queries
from docs.cookbook.recipe import Recipe
from docs.cookbook.recipes import RECIPES
from jobledger.adapters.postgres.report_v1.views import VIEWS
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS

DOCS = Path(__file__).resolve().parents[3] / "docs"
QUESTIONS_MIN = 20
MAY_BE_EMPTY: frozenset[str] = frozenset()
"""Questions to which the sample data have no answer."""


@pytest.mark.postgres
def test_the_page_is_what_the_sample_data_answer(sample_engine: Engine) -> None:
    made = page(sample_engine, END)
    assert (DOCS / "howto/cookbook.md").read_text() == made, (
        "run `python -m docs.cookbook.generate`"
    )


@pytest.mark.postgres
def test_every_question_has_an_answer(sample_engine: Engine) -> None:
    assert len(RECIPES) >= QUESTIONS_MIN
    for recipe in RECIPES:
        rows = answered(sample_engine, recipe, END)
        assert len(rows) > 1 or recipe.question in MAY_BE_EMPTY, recipe.question


@pytest.mark.postgres
def test_every_query_to_be_timed_runs_with_the_rights_of_reports(sample_engine: Engine) -> None:
    names = []
    with sample_engine.connect() as connection:
        for query in documented_queries(END, days=28):
            connection.execute(text(query.sql), dict(query.parameters)).all()
            names.append(query.name)
    assert len(set(names)) == len(RECIPES) + len(REPORTS)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.question)
def test_a_recipe_reads_documented_views_and_asks_for_a_period_of_their_time(
    recipe: Recipe,
) -> None:
    orders = {view.name: view.order for view in VIEWS}
    statement = " ".join(recipe.sql.split())
    read = set(sources(statement))
    assert read
    assert read <= set(orders), "no table, and no view that is not documented"
    periods = set(re.findall(r"(\w+) >= '\{since\}'", statement))
    timed = {orders[view] for view in read if orders[view]} | {"ended_at"}
    assert periods <= timed | {"at"}, "the column has an index"


def sources(statement: str) -> Iterator[str]:
    """Yield what a statement reads, apart from its own WITH queries."""
    own = set(re.findall(r"(\w+) AS (?:MATERIALIZED )?\(", statement))
    for name in re.findall(
        r"\b(?:FROM|JOIN) ([\w.]+)", re.sub(r"extract\([^()]*\)", "", statement)
    ):
        if name not in own:
            yield name.removeprefix("report_v1.")


def test_the_pictures_are_there_and_small() -> None:
    for name in PICTURES:
        content = (DOCS / f"pictures/{name}.png").read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < 100_000
    assert (DOCS / f"pictures/{TERMINAL}.svg").read_text().startswith("<svg")
