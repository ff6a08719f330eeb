"""Which jobs already show the status that is to be written, and which are looked at before."""

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.objects.packing import pack
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Manifest, text
from tests.adapters.service.desk import Desk, a_status


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_after_a_start_nothing_is_written_that_the_object_shows_already(desk: Desk) -> None:
    shown = desk.cluster.edit(RAYJOBS, "ml", "train", status=a_status("Running", foreign="x"))
    first_seen = replace(
        desk.a_job, version=text(shown, "metadata", "resourceVersion"), packed=pack(shown)
    )
    desk.live.put_job(first_seen)
    desk.offer(a_status("Running"))
    desk.work()
    assert (desk.written(), desk.said()) == ([], [])
    assert desk.asked_whether_ahead == 0, "the log explains what is shown: no look is needed"


@pytest.mark.parametrize(
    "shown",
    [a_status("Complete"), a_status("Running", failed=1), a_status("Running", jobStatus="RUNNING")],
    ids=["a later phase", "another count", "a field more"],
)
def test_before_anything_else_is_written_over_it_is_asked_whether_it_is_ahead_of_the_log(
    desk: Desk, shown: Manifest
) -> None:
    desk.see(desk.cluster.edit(RAYJOBS, "ml", "train", status=shown))
    desk.offer(a_status("Running"))
    desk.work()
    assert desk.asked_whether_ahead == 1


def test_what_the_watch_has_not_told_whole_is_not_trusted_to_be_shown(desk: Desk) -> None:
    """Only the resourceVersion of a changed status is kept."""
    seen = desk.cluster.edit(RAYJOBS, "ml", "train", status=a_status("Retrying"))
    desk.see(seen)
    desk.offer(a_status(""))
    desk.work()
    assert desk.shown() == a_status("")
