"""Dashboards ask for what is there, in PromQL, and have the form that Grafana takes in."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.made.__main__ import OPS
from ops.made.dashboards import DASHBOARDS, WIDE
from ops.made.series import OF_THE_SCRAPE, series
from tests.monitoring.promql import asked, grouped

UNITS = {"short", "s", "ops", "bytes"}
Board = dict[str, Any]
BOARDS: dict[str, Board] = {name: json.loads(make()) for name, make in DASHBOARDS.items()}


def expressions(board: Board) -> list[str]:
    """Return what the panels ask, with Grafana's variables filled in."""
    asked_for = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [
        expr.replace("$__rate_interval", "5m").replace("$namespace", "n").replace("$name", "j")
        for expr in asked_for
    ]


@pytest.mark.parametrize("name", BOARDS)
def test_a_panel_asks_for_series_and_labels_that_there_are(name: str) -> None:
    known = series()
    for expr in expressions(BOARDS[name]):
        found = list(asked(expr))
        assert found, expr
        labels = set(OF_THE_SCRAPE)
        for metric, selected in found:
            assert metric in known, f"there is no metric {metric}: {expr}"
            assert selected <= known[metric] | OF_THE_SCRAPE, expr
            labels |= known[metric]
        assert grouped(expr) <= labels, expr


@pytest.mark.parametrize("name", BOARDS)
def test_a_legend_and_a_variable_name_labels_that_there_are(name: str) -> None:
    known = {label for labels in series().values() for label in labels} | OF_THE_SCRAPE
    for panel in BOARDS[name]["panels"]:
        for target in panel["targets"]:
            named = {part.split("}}")[0] for part in target["legendFormat"].split("{{")[1:]}
            assert named <= known
            assert named <= grouped(target["expr"]) | {"pod"}, target["expr"]
    for variable in BOARDS[name]["templating"]["list"][1:]:
        metric = variable["definition"].removeprefix("label_values(").split(",")[0].split("{")[0]
        assert metric in series()


def test_what_is_asked_is_promql(promtool: str, tmp_path: Path) -> None:
    rules = [
        {"record": f"x:{number}", "expr": expr}
        for number, expr in enumerate(
            one for board in BOARDS.values() for one in expressions(board)
        )
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}), encoding="utf-8")
    command = [promtool, "check", "rules", "--lint=none", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", BOARDS)
def test_a_dashboard_has_the_form_that_grafana_takes_in(name: str) -> None:
    board = BOARDS[name]
    assert set(board) >= {"uid", "title", "schemaVersion", "panels", "templating", "time"}
    assert len(board["uid"]) <= 40
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(numbers) == len(set(numbers))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= WIDE
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, f"{panel['title']} lies over another"
        taken |= cells
        references = [target["refId"] for target in panel["targets"]]
        assert len(references) == len(set(references))


@pytest.mark.timeout(900)  # a busy machine builds Go programs for minutes
def test_grafanas_own_types_take_them(grafana: Path) -> None:
    """Strictly: the types are made from Grafana's schemas, and know the panels and queries too."""
    files = [str(OPS / "grafana" / name) for name in BOARDS]
    done = subprocess.run([grafana, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_dashboard_is_not_imported_over_another() -> None:
    assert len({board["uid"] for board in BOARDS.values()}) == len(BOARDS)
    assert len({board["title"] for board in BOARDS.values()}) == len(BOARDS)
