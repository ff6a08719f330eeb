"""Reports of failures narrowed to a cause or a retry group, by `--cause`."""

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from tests.adapters.postgres.test_report_answers import answered, facts

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("name", ["failures", "retries", "waste"])
def test_a_cause_or_its_group_narrows_what_tells_of_failures(
    sample_engine: Engine, name: str
) -> None:
    some = next(one for one in facts(sample_engine, "report_v1.failures") if one["retried"])
    cause, group = some["cause"], some["failure_class"]
    whole = answered(sample_engine, name, "class", "cause").rows
    measure = REPORTS[name].columns[0].name
    for value, expected in (
        (cause, [row[measure] for row in whole if cause in (row["cause"], row["class"])]),
        (group, [row[measure] for row in whole if group in (row["cause"], row["class"])]),
    ):
        narrowed = answered(sample_engine, name, "cause", filters={"cause": value})
        assert sorted(map(str, expected)) == sorted(str(row[measure]) for row in narrowed.rows)
