"""Each alert calls when it should and not otherwise, asks for what is there, and has a runbook."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from ops.made.alerts import ALERTS, RUNBOOKS, Alert
from ops.made.series import OF_THE_SCRAPE, series
from tests.chart.helm import CHART
from tests.monitoring.alert_stories import STORIES
from tests.monitoring.promql import asked, grouped

ROOT = CHART.parents[1]
RULES = ROOT / "ops" / "prometheus" / "alerts.yaml"
RUNBOOK = ROOT / "docs" / "howto" / "runbooks.md"
PARTS = ("**What it means.**", "**What to look at.**", "**What to do.**")
NAMES = [alert.name for alert in ALERTS]


@pytest.mark.parametrize("alert", ALERTS, ids=NAMES)
def test_an_alert_asks_for_series_and_labels_that_there_are(alert: Alert) -> None:
    known = series()
    found = list(asked(alert.expr))
    assert found
    labels = set(OF_THE_SCRAPE)
    for name, selected in found:
        assert name in known, f"there is no metric {name}"
        assert selected <= known[name] | OF_THE_SCRAPE
        labels |= known[name]
    assert grouped(alert.expr) <= labels
    shown = set(re.findall(r"\$labels\.(\w+)", alert.summary))
    assert shown <= grouped(alert.expr), "a label that no result has"


def test_every_alert_has_a_runbook_of_three_parts_and_no_runbook_is_left_over() -> None:
    sections = re.split(r"^## ", RUNBOOK.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    titles = [section.splitlines()[0] for section in sections]
    assert titles == NAMES
    for section in sections:
        assert all(part in section for part in PARTS), section.splitlines()[0]
    for rule in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]:
        anchor = rule["annotations"]["runbook_url"].removeprefix(f"{RUNBOOKS}#")
        assert anchor in {title.lower() for title in titles}


def test_every_alert_has_a_story() -> None:
    assert list(STORIES) == NAMES


def test_prometheus_calls_when_it_should_and_not_otherwise(promtool: str, tmp_path: Path) -> None:
    """By its own unit tests, all in one file."""
    cases = [
        {
            "interval": "1m",
            "name": f"{name}, {'wrong' if called else 'right'}",
            "input_series": [{"series": one, "values": values} for one, values in told.items()],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}})',
                    "eval_time": f"{story.minutes}m",
                    "exp_samples": [{"labels": "{}", "value": 1}] if called else [],
                }
            ],
        }
        for name, story in STORIES.items()
        for told, called in ((story.wrong, True), (story.right, False))
    ]
    file = tmp_path / "tests.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": cases}),
        encoding="utf-8",
    )
    command = [promtool, "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_file_is_one_that_prometheus_reads(promtool: str) -> None:
    command = [promtool, "check", "rules", "--lint-fatal", str(RULES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout
