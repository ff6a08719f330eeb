"""Reports for machines: JSON, CSV and Parquet say the same, under names that stay."""

import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest
import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.reporting.machine_forms import as_csv, as_json, as_parquet
from jobledger.adapters.cli.reporting.options import ReportForm
from jobledger.adapters.cli.reporting.plot import plot
from jobledger.adapters.cli.reporting.told import form_for
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Answer, Row
from tests.adapters.cli.answers import answer

BERLIN = ZoneInfo("Europe/Berlin")

COLUMNS = {
    "failures": "failures rate share jobs retried final never_ran last_at",
    "retries": "retries jobs counted helped failed_again helped_share not_retried would_help "
    "cluster_seconds wait_p50_seconds wait_p95_seconds",
    "regressions": "image_before changed_at before_runs before_failed before_share runs failed "
    "failed_share more_failures",
    "nodes": "failures expected times jobs images cured last_at",
    "waste": "wasted_seconds wasted_share failed_attempts attempts failed_share cluster_seconds",
    "start-latency": "attempts ran p50_seconds p95_seconds p99_seconds stepped "
    "first_step_p50_seconds first_step_p95_seconds queue_p95_seconds cluster_p95_seconds "
    "submit_p95_seconds",
    "durations": "jobs p50_seconds p95_seconds p99_seconds max_seconds running_p50_seconds "
    "running_p95_seconds running_share",
    "slo": "jobs judged good good_share met late failed retried open withdrawn unknown",
    "flaky": "runs flaky_runs flaky_share failed_runs failed_attempts wasted_seconds last_at",
    "stuck": "cluster kind phase since_at stuck_seconds limit_seconds peers attempt queue user "
    "reason",
    "busiest": "cluster_seconds share jobs attempts failed_attempts mean_seconds",
    "cost": "cost wasted_cost accelerator_seconds cpu_seconds memory_gib_seconds failed_cost "
    "waiting_cost idle_cost failed_accelerator_seconds waiting_accelerator_seconds "
    "idle_accelerator_seconds failed_cpu_seconds waiting_cpu_seconds idle_cpu_seconds "
    "failed_memory_gib_seconds waiting_memory_gib_seconds idle_memory_gib_seconds attempts",
    "idle": "cluster ray_cluster idle_since_at idle_seconds outcome user queue",
}
"""Scripts rely on these: a name may be added, none may go or change its meaning."""


def of_failures() -> Answer:
    rows: list[Row] = [
        {
            "day": datetime(2026, 11, 1, 23, tzinfo=UTC),
            "reason": reason,
            "failures": 2,
            "rate": 0.25,
            "share": 0.5,
            "jobs": 1,
            "retried": 1,
            "final": 1,
            "never_ran": 0,
            "last_at": datetime(2026, 11, 2, 5, 30, tzinfo=UTC),
        }
        for reason in ("AppFailed", 'said "no", twice')
    ]
    return answer("failures", rows, by=("day", "reason"), total=dict(rows[0]), zone=BERLIN)


@pytest.mark.parametrize("name", REPORTS)
def test_the_columns_of_a_report_keep_their_names(name: str) -> None:
    assert [column.name for column in REPORTS[name].columns] == COLUMNS[name].split()


def test_a_json_document_explains_itself() -> None:
    told = json.loads(as_json(of_failures()))
    assert sorted(told) == [
        "by",
        "columns",
        "events_behind",
        "filters",
        "more",
        "report",
        "rows",
        "rule",
        "schema",
        "since",
        "stale_since",
        "thresholds",
        "timezone",
        "total",
        "until",
    ]
    assert told["schema"] == 1
    assert [column["name"] for column in told["columns"]] == list(told["rows"][0])
    assert {"name", "unit", "meaning"} == set(told["columns"][0])


def test_instants_carry_the_offset_of_the_zone_that_was_asked_for() -> None:
    told = json.loads(as_json(of_failures()))
    assert told["since"] == "2026-11-02T01:00:00+01:00"
    assert told["rows"][0]["day"] == "2026-11-02T00:00:00+01:00"
    assert json.loads(as_json(answer("waste", [])))["since"] == "2026-11-02T00:00:00Z"


def test_csv_has_a_line_per_row_and_the_same_values() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(of_failures()))))
    assert len(rows) == 2
    assert rows[1]["reason"] == 'said "no", twice'
    assert rows[0]["day"] == "2026-11-02T00:00:00+01:00"
    assert (rows[0]["failures"], rows[0]["share"]) == ("2", "0.5")


def test_machines_get_names_uncut_and_from_json_as_they_are() -> None:
    name = "\x1b[31m" + "x" * 5000
    rows = [{**row, "reason": name} for row in of_failures().rows]
    told = answer("failures", rows, by=("reason",))
    shown = name.replace("\x1b", r"\x1b")
    assert [row["reason"] for row in csv.DictReader(io.StringIO(as_csv(told)))] == [shown] * 2
    assert [row["reason"] for row in json.loads(as_json(told))["rows"]] == [name] * 2


def test_parquet_has_types_and_units() -> None:
    table = pq.read_table(io.BytesIO(as_parquet(of_failures())))
    assert table.num_rows == 2
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["day"] == "timestamp[us, tz=UTC]"
    assert (kinds["failures"], kinds["share"], kinds["reason"]) == ("int64", "double", "string")
    assert table.schema.field("share").metadata[b"unit"] == b"share"
    assert table.schema.metadata[b"jobledger.report"] == b"failures"
    assert table.column("day")[0].as_py() == datetime(2026, 11, 1, 23, tzinfo=UTC)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_same_answer_gives_the_same_picture(tmp_path: Path, suffix: str) -> None:
    first, second = (tmp_path / f"{name}.{suffix}" for name in ("first", "second"))
    plot(of_failures(), first)
    plot(of_failures(), second)
    assert first.read_bytes() == second.read_bytes()
    starts = {"png": b"\x89PNG", "svg": b"<?xml"}
    assert first.read_bytes().startswith(starts[suffix])


@pytest.mark.parametrize("name", ["$\\foo{$ x", "$", "a\nb", "\x1b[31m"])
def test_a_name_may_hold_anything_in_a_picture(tmp_path: Path, name: str) -> None:
    plain, odd = of_failures().rows
    rows = [plain, {**odd, "reason": name}]
    plot(answer("failures", rows, by=("day", "reason")), tmp_path / "by-day.svg")
    plot(answer("failures", rows, by=("reason",)), tmp_path / "bars.svg")
    shown = name.replace("\n", "\ufffd").replace("\x1b", "\ufffd")
    drawn = [(tmp_path / f"{one}.svg").read_text(encoding="utf-8") for one in ("by-day", "bars")]
    assert [shown in picture for picture in drawn] == [True, True]


def test_a_picture_of_nothing_says_so(tmp_path: Path) -> None:
    plot(answer("waste", [], by=("class",)), tmp_path / "empty.svg")
    assert "nothing in this period" in (tmp_path / "empty.svg").read_text()


def test_what_is_missing_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Neither pyarrow nor matplotlib is needed for anything else."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for extra, wanting in (
        ("parquet", lambda: as_parquet(of_failures())),
        ("report", lambda: plot(of_failures(), tmp_path / "a.png")),
    ):
        with pytest.raises(typer.Exit) as ended:
            wanting()
        assert ended.value.exit_code == ExitCode.MISCONFIGURED
        assert f"pip install 'jobledger[{extra}]'" in capsys.readouterr().err


def test_parquet_is_kept_out_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(typer.Exit) as ended:
        form_for(ReportForm.PARQUET, None)
    assert ended.value.exit_code == ExitCode.USAGE
    assert "not for a terminal" in capsys.readouterr().err
    assert form_for(ReportForm.PARQUET, Path("x")) is ReportForm.PARQUET
    assert form_for(ReportForm.TABLE, Path("x.csv")) is ReportForm.CSV


def named(reason: str) -> Answer:
    found = of_failures()
    return replace(found, rows=[{**found.rows[0], "reason": reason}])


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_is_a_formula_to_a_spreadsheet(begin: str) -> None:
    (row,) = csv.DictReader(io.StringIO(as_csv(named(f'{begin}HYPERLINK("http://x","y")'))))
    assert row["reason"].startswith("'")
    assert row["reason"].endswith('HYPERLINK("http://x","y")')
    assert row["failures"] == "2", "numbers stay numbers"


@pytest.mark.parametrize("form", [as_csv, as_json])
def test_no_text_is_obeyed_by_a_terminal(form: Callable[[Answer], str]) -> None:
    told = form(named("\x1b[31mred\x9b0m \u202edesrever"))
    assert [sign for sign in "\x1b\x9b\u202e" if sign in told] == []
    assert "[31mred" in told
