"""A setting that would leave the service doing nothing, or harm, is refused before it starts."""

import pytest
from pydantic import ValidationError

from jobledger.adapters.settings import Settings

REFUSED = (
    ("WORKERS", ("0", "-3", "1001")),
    ("POLLERS", ("0", "-1", "1001")),
    ("REPLICA", ("",)),
    ("CLUSTER", ("",)),
    ("NAMESPACES", ('[""]', '["ml", ""]', '["ml,prod"]', '[" ml"]', '["ML"]')),
    ("CONTROL_NAMESPACES", ('[""]', '["*"]')),
    ("CLAIM_NAMESPACE", ("", "a/b")),
    ("LEASE_SECONDS", ("0", "-15", "nan", "inf", "1e300")),
    ("POLL_INTERVAL_SECONDS", ("0", "-3", "nan", "inf")),
    ("RAY_TIMEOUT_SECONDS", ("0", "-2", "nan", "inf")),
    ("EVIDENCE_SECONDS", ("-1", "nan", "inf")),
    ("LOG_STREAMS_MAX", ("-1",)),
    ("STATUS_CHECK_TIMEOUT_SECONDS", ("0", "-300", "99999999999999999999")),
    ("TRANSITION_GRACE_SECONDS", ("-1", "99999999999999999999")),
    ("SUBMITTER_FINISHED_TIMEOUT_SECONDS", ("-1", "99999999999999999999")),
    ("RETRY_DELAY_SECONDS", ("-1", "99999999999999999999")),
    ("RETRY_DELAY_MAX_SECONDS", ("-1", "99999999999999999999")),
    ("EVIDENCE_TIMEOUT_SECONDS", ("-1", "99999999999999999999")),
    ("EFFECT_RETRY_SECONDS", ("0", "-10", "99999999999999999999")),
    ("SEAL_EVERY_SECONDS", ("-1", "99999999999999999999")),
    ("LOG_LEVEL", ("", "banana", "10")),
)
UPSTREAM = (
    ("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", ("0", "-1", "x")),
    ("RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", ("-1", "x")),
)
BAD = [(f"JOBLEDGER_{name}", value) for name, values in REFUSED for value in values] + [
    (name, value) for name, values in UPSTREAM for value in values
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_value_that_does_nothing_or_harm_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError):
        Settings()


@pytest.mark.parametrize("said", ["info", "INFO", "Warning"])
def test_the_level_of_lines_is_told_in_any_case(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBLEDGER_LOG_LEVEL", said)
    assert Settings().log_level == said.lower()
