"""Where reports have another cause than `explain`, the answer says so."""

import pytest

from jobledger.adapters.cli.story import explain
from jobledger.core.forensics.story.account import Account

ACCOUNT = Account(
    outcome="failed",
    failure_class="diverged",
    failure_group="application",
    advice="a smaller learning rate",
    sentences=(),
)
SAID = "failure class diverged (retry group application): a smaller learning rate"


@pytest.mark.parametrize(
    ("counted", "more"),
    [
        ("application", " (reports, which read no kept logs, count it as application)"),
        ("diverged", ""),
        ("", ""),
    ],
)
def test_what_reports_count_a_failure_as_is_told_where_it_is_another(
    counted: str, more: str, capsys: pytest.CaptureFixture[str]
) -> None:
    explain._tell(ACCOUNT, counted)  # noqa: SLF001  # what is printed, without a ledger
    assert capsys.readouterr().out == f"{SAID}{more}\n"
