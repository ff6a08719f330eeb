"""What `--by` of a report makes of the names that were typed."""

import pytest
import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.reporting import asked
from jobledger.adapters.cli.reporting.asked import dimensions
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS


@pytest.mark.parametrize(
    ("typed", "by"),
    [
        (["job"], ("cluster", "job")),
        (["day,job"], ("day", "cluster", "job")),
        (["job", "cluster"], ("job", "cluster")),
        (["user"], ("user",)),
        (["nothing"], ()),
        ([], ("namespace", "user")),
    ],
)
def test_jobs_of_one_name_in_two_clusters_are_two(typed: list[str], by: tuple[str, ...]) -> None:
    assert dimensions(REPORTS["busiest"], typed) == by


def test_labels_are_among_what_can_be_grouped_by(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        dimensions(REPORTS["busiest"], ["labl:team"])
    assert "; or label:NAME, or 'nothing'" in capsys.readouterr().err


def test_only_what_tells_of_failures_is_narrowed_by_a_cause(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked.filters(REPORTS["waste"], {"cause": "gpu-fault", "queue": ""})
    with pytest.raises(typer.Exit):
        asked.filters(REPORTS["busiest"], {"cause": "gpu-fault"})
    assert (
        "--cause is for failures, retries, nodes, waste, cost, not for busiest"
        in capsys.readouterr().err
    )
    with pytest.raises(typer.Exit):
        asked.filters(REPORTS["failures"], {"cause": "gpu-falt"})
    assert "no cause 'gpu-falt'; did you mean gpu-fault?" in capsys.readouterr().err


def test_what_cannot_be_grouped_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        dimensions(REPORTS["stuck"], ["cluster"])
    assert ended.value.exit_code == ExitCode.USAGE
    said = "each row of stuck is one job: it cannot be grouped; leave --by out"
    assert said in " ".join(capsys.readouterr().err.split())
    assert dimensions(REPORTS["stuck"], ["nothing"]) == ()


def test_any_label_is_grouped_by(capsys: pytest.CaptureFixture[str]) -> None:
    for report in (one for one in REPORTS.values() if one.dimensions):
        name = "label:app.kubernetes.io/name"
        assert dimensions(report, [name]) == (name,)
    for typed in ("label:x' OR 'y", "label:"):
        with pytest.raises(typer.Exit):
            dimensions(REPORTS["cost"], [typed])
        assert "no dimension of" in capsys.readouterr().err
