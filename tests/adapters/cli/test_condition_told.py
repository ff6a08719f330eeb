"""What `jobledger doctor` says where the condition of the database cannot be read."""

from types import SimpleNamespace
from typing import cast

import pytest

from jobledger.adapters.cli.ledger import doctor
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.core.errors import LedgerError, LedgerMisconfigured, LedgerUnavailable


class Failing:
    """Stands for `condition`, and counts how often it is asked."""

    def __init__(self, problem: LedgerError) -> None:
        self.problem, self.asked = problem, 0

    def __call__(self, _engine: object) -> None:
        self.asked += 1
        raise self.problem


OPENED = cast("Ledger", SimpleNamespace(engine=None))


def test_it_is_asked_once_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Failing(LedgerMisconfigured("log_head has no row"))
    monkeypatch.setattr(doctor, "condition", failing)
    ((check, _, findings),) = doctor.of_condition(OPENED)
    assert (check, failing.asked) == ("condition", 1)
    assert [one.what for one in findings] == ["it could not be asked: log_head has no row"]
    assert "partitions" in findings[0].remedy


def test_a_database_that_does_not_answer_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Failing(LedgerUnavailable("it is away"))
    monkeypatch.setattr(doctor, "condition", away)
    monkeypatch.setattr(doctor, "database_now", away)
    with pytest.raises(LedgerUnavailable):
        list(doctor.of_condition(OPENED))


def test_one_that_is_slow_is_asked_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "condition", Failing(LedgerUnavailable("57014: time-out")))
    monkeypatch.setattr(doctor, "database_now", lambda _: None)
    ((check, _, findings),) = doctor.of_condition(OPENED)
    assert check == "condition"
    assert "57014" in findings[0].what
