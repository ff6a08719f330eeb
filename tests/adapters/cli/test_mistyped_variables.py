"""A variable that is nearly a setting is told: without its `S`, all namespaces were controlled."""

import pytest

from jobledger.adapters.cli.options import settings_from
from jobledger.adapters.settings import PREFIX, Settings, mistyped


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("JOBLEDGER_CONTROL_NAMESPACE", "JOBLEDGER_CONTROL_NAMESPACES"),
        ("JOBLEDGER_JOBKINDS", "JOBLEDGER_JOB_KINDS"),
        ("JOBLEDGER_DATABASEURL", "JOBLEDGER_DATABASE_URL"),
        ("JOBLEDGER_LOGLEVEL", "JOBLEDGER_LOG_LEVEL"),
    ],
)
def test_a_name_that_is_nearly_a_setting_is_found(given: str, meant: str) -> None:
    assert list(mistyped(["HOME", given])) == [(given, meant)]


@pytest.mark.parametrize(
    "given",
    [
        *(f"{PREFIX}{name.upper()}" for name in Settings.model_fields),
        "JOBLEDGER_SERVICE_HOST",
        "JOBLEDGER_SERVICE_PORT_HTTP",
        "JOBLEDGER_PORT_8080_TCP",
        "JOBLEDGER_ARCHIVE_DIR",
        "JOBLEDGER_NOTIFY_RULES",
        "JOBLEDGER_SANDBOX_NAMESPACE",
        "CONTROL_NAMESPACE",
    ],
)
def test_settings_and_what_is_others_are_not(given: str) -> None:
    assert list(mistyped([given])) == []


def test_every_command_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JOBLEDGER_CONTROL_NAMESPACE", '["team-a"]')
    settings_from()
    told = " ".join(capsys.readouterr().err.split())
    assert "JOBLEDGER_CONTROL_NAMESPACE is no setting and sets nothing" in told
    assert "JOBLEDGER_CONTROL_NAMESPACES may be meant" in told
