"""What may be said to the chart, what it makes of it, and which sentence refuses the rest."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotated_types import Le
from pydantic.fields import FieldInfo

from jobledger.adapters.notifying.rules_file import read_rules
from jobledger.adapters.settings import Settings
from ops.made.__main__ import FILES, stale
from ops.made.values_schema import GIVEN_ELSEWHERE, OF_A_POD
from tests.chart.helm import CHART, Refused, helm, rendered
from tests.chart.values import IMAGE, MATRIX, WRONG, Values, together

OTHERS: dict[str, Any] = {
    "cluster": "prod-eu",
    "namespaces": ["team-a", "team-b"],
    "job_kinds": ["TrainJob"],
    "control": "namespaces",
    "control_namespaces": ["team-a"],
    "claim_namespace": "claims",
    "take_over": True,
    "trainjob_conditions": "seed",
    "trainjob_propagate_conditions": True,
    "trainer_status_url": "https://status.example:10443",
    "trainer_status_authority": "ours/authority",
    "cluster_domain": "cluster.example",
    "login_shell": True,
    "head_cluster_ip": True,
    "sidecar_restarts": True,
    "batch_scheduler": "yunikorn",
    "delete_job_after_finish": True,
    "api_token_review": True,
    "reports": False,
    "report_user_labels": ["owner"],
    "log_format": "console",
    "log_level": "debug",
    "one_core": False,
    "huge_pages": False,
}
"""A value of each setting that is no number, other than its default."""

LARGE = 1234567
"""A number that must not become 1.234567e+06 on its way."""


def environment(documents: list[dict[str, Any]], component: str = "controller") -> dict[str, Any]:
    """Return name -> text, or reference to a Secret, of the container of a Deployment."""
    [found] = [
        one
        for one in documents
        if one["kind"] == "Deployment"
        and one["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]
    [container] = found["spec"]["template"]["spec"]["containers"]
    names = [entry["name"] for entry in container["env"]]
    assert len(names) == len(set(names)), "a name that is given twice"
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}


def chart_values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return found


def all_settings() -> dict[str, Any]:
    """Return a value, not the default, of each setting that `settings` takes."""
    elsewhere = GIVEN_ELSEWHERE.keys() | OF_A_POD.keys()
    return {
        name: OTHERS.get(name, min([LARGE, *_greatest(field)]))
        for name, field in Settings.model_fields.items()
        if name not in elsewhere
    }


def _greatest(field: FieldInfo) -> Iterator[int]:
    """Yield the greatest value that a number may have, if there is one."""
    for rule in field.metadata:
        if isinstance(rule, Le):
            assert isinstance(rule.le, int)
            yield rule.le


def test_every_setting_can_be_given_and_is_what_the_program_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = all_settings()
    given = environment(rendered(together(IMAGE, {"settings": said}), tmp_path))
    for name in list(os.environ):
        if name.startswith("JOBLEDGER_"):
            monkeypatch.delenv(name)
    for name, value in given.items():
        if isinstance(value, str):
            monkeypatch.setenv(name, value)
    read = Settings()
    plain = dict(Settings.model_construct()) | chart_values()["settings"]
    for name, value in said.items():
        found = getattr(read, name)
        assert (list(found) if isinstance(found, tuple) else found) == value, name
        assert found != plain[name], f"{name}: the default proves nothing"
    assert (read.host, read.port) == ("0.0.0.0", 8080)


def test_settings_that_are_secrets_come_from_secrets(tmp_path: Path) -> None:
    said: Values = {"api": {"tokenSecret": "readers"}}
    said |= {"seals": {"enabled": True, "claim": "copies", "keySecret": "signing"}}
    documents = rendered(together(IMAGE, said), tmp_path)
    given = environment(documents)
    secret = {"name": "jobledger", "key": "database-url"}
    assert given["DATABASE_URL"] == {"secretKeyRef": secret}
    assert given["JOBLEDGER_REDACTION_KEY"]["secretKeyRef"]["key"] == "redaction-key"
    assert given["JOBLEDGER_API_TOKEN_FILE"] == "/etc/jobledger/api/token"
    [upkeep] = [one for one in documents if one["kind"] == "CronJob"]
    pod = upkeep["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    names = {entry["name"] for entry in pod["containers"][0]["env"]}
    assert {"JOBLEDGER_SEALS_DIR", "JOBLEDGER_SEAL_KEY_FILE", "DATABASE_URL"} <= names


def test_every_variable_of_the_chart_is_a_setting_that_is_there() -> None:
    known = {f"JOBLEDGER_{name.upper()}" for name in Settings.model_fields}
    for file in (CHART / "templates").iterdir():
        words = file.read_text(encoding="utf-8").replace('"', " ").replace(",", " ").split()
        named = {word for word in words if word.startswith("JOBLEDGER_") and word[10:].strip("_")}
        assert named - known - {"JOBLEDGER_{{"} == set(), file.name
    assert known >= {f"JOBLEDGER_{name.upper()}" for name in (*GIVEN_ELSEWHERE, *OF_A_POD)}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_value_is_refused_with_a_sentence(what: str, tmp_path: Path) -> None:
    values, sentence = WRONG[what]
    with pytest.raises(Refused) as refused:
        rendered(together(IMAGE, values), tmp_path)
    assert sentence in str(refused.value)


def test_every_value_is_in_the_schema_and_the_chart_is_taken_for_sound() -> None:
    said = helm(os.environ, "lint", "--strict", str(CHART), "--set", "image.repository=r.example/j")
    assert "0 chart(s) failed" in said


def test_every_value_has_a_line_in_the_file_of_values() -> None:
    """A value that only the schema knows would be found by nobody."""
    schema = yaml.safe_load((CHART / "values.schema.json").read_text(encoding="utf-8"))
    assert missing(schema, chart_values()) == {"global"}


def missing(schema: dict[str, Any], values: dict[str, Any], path: str = "") -> set[str]:
    """Return what the schema names and the values do not, as dotted paths."""
    found = set()
    for name, below in schema.get("properties", {}).items():
        if name not in values:
            found.add(f"{path}{name}")
        elif isinstance(values[name], dict) and name != "settings":
            found |= missing(below, values[name], f"{path}{name}.")
    return found


@pytest.mark.parametrize("name", FILES)
def test_what_is_made_is_as_the_code_says(name: str) -> None:
    assert not stale(name), "run `python -m ops.made`"


def test_alerts_and_dashboards_are_handed_on_as_they_are(tmp_path: Path) -> None:
    documents = rendered(together(IMAGE, MATRIX["metrics"]), tmp_path)
    by_kind = {one["kind"]: one for one in documents}
    ops = CHART.parent
    alerts = yaml.safe_load((ops / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    assert by_kind["PrometheusRule"]["spec"] == alerts
    boards = {path.name: path.read_text(encoding="utf-8") for path in ops.glob("grafana/*.json")}
    data = by_kind["ConfigMap"]["data"]
    assert {name.removeprefix("jobledger-"): text + "\n" for name, text in data.items()} == boards
    [endpoint] = by_kind["ServiceMonitor"]["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True, "RayJobs would all be in the namespace of the Pod"


def test_rules_of_notifications_are_read_by_the_program_as_they_are_given(tmp_path: Path) -> None:
    said = MATRIX["notifications"]
    documents = rendered(together(IMAGE, said), tmp_path)
    [rules] = [one for one in documents if "rules.yaml" in one.get("data", {})]
    file = tmp_path / "rules.yaml"
    file.write_text(rules["data"]["rules.yaml"])
    found = read_rules(file)
    wanted = said["notifications"]
    assert {name: target.form.value for name, target in found.targets.items()} == {
        name: target["form"] for name, target in wanted["targets"].items()
    }
    assert [rule.name for rule in found.rules] == [rule["name"] for rule in wanted["rules"]]
    given = environment(documents, "notifications")
    assert given["DATABASE_URL"] == {"secretKeyRef": {"name": "jobledger", "key": "database-url"}}
    monitored = [
        one["spec"]["selector"]["matchLabels"]["app.kubernetes.io/component"]
        for one in documents
        if one["kind"] == "ServiceMonitor"
    ]
    assert monitored == ["controller", "notifications"]
