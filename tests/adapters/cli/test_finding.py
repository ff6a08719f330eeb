"""Which job is meant where several clusters, namespaces or kinds have one of that name."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import pytest
import typer
from msgspec.structs import replace

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.finding import find_job
from jobledger.core.catalogue import read_event
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.projections.view import View, advance
from jobledger.core.values.ids import StreamId
from tests.support.lives import LIVES
from tests.support.recorded import recorded


def a_row() -> JobRow:
    _, changes = advance(View(), (read_event(one) for one in recorded(LIVES["succeeded"]())))
    return changes.job


class _Rows:
    """A history of these jobs, the youngest first."""

    def __init__(self, *rows: JobRow) -> None:
        self._rows = rows

    def jobs(self, wanted: JobFilter, limit: int) -> Sequence[JobRow]:
        fields = ("cluster", "namespace", "name", "uid", "stream_id")
        return [
            row
            for row in self._rows
            if all(getattr(wanted, one) in ("", None, getattr(row, one)) for one in fields)
        ][:limit]


EAST = replace(a_row(), cluster="east", uid="uid-east")
WEST = replace(EAST, cluster="west", uid="uid-west")
OTHER = replace(EAST, namespace="other", uid="uid-other")
OLDER = replace(EAST, uid="uid-older")
TRAINING = replace(EAST, kind="TrainJob", uid="uid-training")


def history(*rows: JobRow) -> History:
    return cast("History", _Rows(*rows))


@pytest.mark.parametrize(
    ("rows", "ways"),
    [
        ((EAST, WEST), "--cluster or its UID"),
        ((EAST, OTHER), "--namespace or its UID"),
        ((EAST, WEST, OTHER), "--cluster or --namespace or its UID"),
        ((EAST, TRAINING), "its UID"),
    ],
)
def test_a_name_that_may_mean_several_jobs_is_refused_with_all_of_them(
    rows: tuple[JobRow, ...], ways: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as refused:
        find_job(history(*rows), EAST.name)
    assert refused.value.exit_code == ExitCode.USAGE
    said = " ".join(capsys.readouterr().err.split())
    for row in rows:
        assert f"{row.kind} {row.namespace}/{row.name} of cluster {row.cluster}" in said
        assert row.uid in said
    assert said.endswith(f"; say which with {ways}")


def test_a_cluster_a_namespace_or_a_uid_says_which_is_meant() -> None:
    everything = history(EAST, WEST, OTHER)
    assert find_job(everything, EAST.name, "", "west") == WEST
    assert find_job(everything, EAST.name, "other") == OTHER
    assert find_job(everything, f"other/{EAST.name}") == OTHER
    assert find_job(everything, f"{EAST.namespace}/{EAST.name}", "", "east") == EAST
    assert find_job(everything, "uid-west") == WEST


def test_of_jobs_that_followed_each_other_the_youngest_is_meant() -> None:
    assert find_job(history(EAST, OLDER), EAST.name) == EAST


def test_a_job_of_another_cluster_is_none() -> None:
    with pytest.raises(typer.Exit) as refused:
        find_job(history(EAST), EAST.name, "", "west")
    assert refused.value.exit_code == ExitCode.NOT_FOUND


def test_the_id_of_a_stream_says_which_is_meant_as_log_lines_tell_it() -> None:
    another = replace(OTHER, stream_id=StreamId(UUID(int=7)))
    everything = history(EAST, another)
    assert find_job(everything, str(another.stream_id)) == another
    with pytest.raises(typer.Exit) as refused:
        find_job(everything, str(UUID(int=8)))
    assert refused.value.exit_code == ExitCode.NOT_FOUND
