"""Reports grouped by a label of the jobs."""

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from tests.adapters.postgres.test_report_answers import answered

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("name", [name for name, one in REPORTS.items() if one.dimensions])
def test_rows_by_a_label_are_those_by_what_it_says(sample_engine: Engine, name: str) -> None:
    """In the sample data each job has its namespace as its label `team`."""
    by_label, by_namespace = (
        {row[by]: {column: row[column] for column in measures(name)} for row in found.rows}
        for by in ("label:team", "namespace")
        for found in [answered(sample_engine, name, by)]
    )
    assert by_label.keys() == by_namespace.keys()
    for team, row in by_namespace.items():
        for column, value in row.items():
            same = pytest.approx(value) if isinstance(value, float) else value
            assert by_label[team][column] == same
    assert by_label.keys() - {""} or name == "idle", "there are rows of a team"


def measures(name: str) -> list[str]:
    return [column.name for column in REPORTS[name].columns]


@pytest.mark.parametrize("name", ["failures", "regressions"])
def test_labels_of_long_names_that_begin_alike_are_told_apart(
    sample_engine: Engine, name: str
) -> None:
    """A name may have 317 characters; of a column Postgres keeps 63."""
    long = [f"label:platform.{'example.' * 20}org/priority-{end}" for end in "ab"]
    found = answered(sample_engine, name, *long, "namespace")
    assert found.rows
    assert {tuple(row[one] for one in long) for row in found.rows} == {("", "")}
    assert {row["namespace"] for row in found.rows} - {""}
