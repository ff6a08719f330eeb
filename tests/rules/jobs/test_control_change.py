"""What a recorded or held job shows, and in which order it follows on a change of control."""

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.control.control_change import ControlRules, control_of
from jobledger.core.jobs.events import ControlReleased, ControlTaken, LedgerBehindFound
from jobledger.core.rayjob.events.lifecycle import OthersStatusObserved
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.state import RayJobState, Recorded
from tests.support.rayjob_builders import after, manifest

KUEUE = "spec.managedBy names another controller"
NOTHING = SeenStatus(phase="")
RUNNING = SeenStatus(phase="Running")
AHEAD = SeenStatus(phase="Complete")

NOW = after(5)
RELEASED = ControlReleased(at=NOW, why=KUEUE)
TAKEN = ControlTaken(at=NOW, recorded_since=after(0), recorded_because=KUEUE)
BEHIND = LedgerBehindFound(at=NOW, signs=("it has ended",), observed_generation=0)
SHOWN = OthersStatusObserved(at=NOW, status=RUNNING)
SHOWN_NOTHING = OthersStatusObserved(at=NOW, status=NOTHING)
SHOWN_AHEAD = OthersStatusObserved(at=NOW, status=AHEAD)

RECORDED = Recorded(since=after(0), why=KUEUE)
RUNS = replace(RECORDED, shown=RUNNING)
HELD = Recorded(since=after(0), why="the ledger is older than the cluster", behind=True)

RULES: ControlRules[RayJobState, ManifestSeen, OthersStatusObserved] = ControlRules(
    no_status=NOTHING,
    shown=lambda seen: OthersStatusObserved(at=seen.at, status=seen.status),
    signs=lambda _, seen: ("it has ended",) if seen.status == AHEAD else (),
    is_final=lambda state: state.failed > 0,
    shows_own=lambda _, seen: seen.status == RUNNING,
)


def told(recorded: Recorded | None, seen: ManifestSeen, *, failed: int = 0) -> tuple[object, ...]:
    """Return what follows from a look at a job."""
    return control_of(RULES, RayJobState(recorded=recorded, failed=failed), replace(seen, at=NOW))


def look(
    status: SeenStatus, why: str = "", *, in_between: bool = False, written_here: bool = False
) -> ManifestSeen:
    seen = manifest(5, status=status, recorded=why)
    return replace(seen, in_between=in_between, written_here=written_here)


@pytest.mark.parametrize(
    ("recorded", "seen", "events"),
    [
        (None, look(RUNNING), ()),
        (None, look(NOTHING, KUEUE), (RELEASED,)),
        (None, look(RUNNING, KUEUE), (RELEASED, SHOWN)),
        (None, look(RUNNING, KUEUE, in_between=True), ()),  # it shows what was decided here
        (None, look(AHEAD, KUEUE, in_between=True), (RELEASED, SHOWN_AHEAD)),
        (RUNS, look(RUNNING, KUEUE), ()),
        (RUNS, look(NOTHING, KUEUE), (SHOWN_NOTHING,)),
        (RECORDED, look(NOTHING, KUEUE), ()),
        (RECORDED, look(RUNNING, KUEUE), (SHOWN,)),
        (RUNS, look(RUNNING), (TAKEN,)),
        (RUNS, look(NOTHING), (TAKEN,)),  # a status that was lost says nothing
        (RECORDED, look(RUNNING), (SHOWN, TAKEN)),  # the job goes on from what the other did last
    ],
)
def test_what_another_did_last_is_known_before_control_is_taken(
    recorded: Recorded | None, seen: ManifestSeen, events: tuple[object, ...]
) -> None:
    assert told(recorded, seen) == events


def test_control_is_not_taken_of_a_job_that_is_given_to_another() -> None:
    seen = manifest(5, status=RUNNING, managed_by="kueue.x-k8s.io/multikueue")
    assert told(RUNS, replace(seen, recorded="")) == ()


@pytest.mark.parametrize(
    ("seen", "failed", "events"),
    [
        (look(AHEAD, written_here=True), 0, (BEHIND, SHOWN_AHEAD)),
        (look(AHEAD, written_here=True), 1, ()),  # a job that has ended stays so
        (look(AHEAD), 0, ()),  # a stranger's status
        (look(RUNNING, written_here=True), 0, ()),
        (look(AHEAD, KUEUE, written_here=True), 0, (RELEASED, SHOWN_AHEAD)),
    ],
)
def test_a_status_of_ours_that_knows_more_than_the_log_shows_that_it_is_behind(
    seen: ManifestSeen, failed: int, events: tuple[object, ...]
) -> None:
    assert told(None, seen, failed=failed) == events


@pytest.mark.parametrize(
    ("seen", "events"),
    [
        (look(NOTHING), ()),
        (look(RUNNING), (SHOWN,)),
        (look(RUNNING, written_here=True), ()),  # a status of our own from before
        (look(AHEAD, written_here=True), (SHOWN_AHEAD,)),
        (look(NOTHING, KUEUE), (RELEASED,)),
        (look(RUNNING, KUEUE, written_here=True), (RELEASED, SHOWN)),
    ],
)
def test_a_held_job_is_let_go_if_another_controller_is_to_have_it(
    seen: ManifestSeen, events: tuple[object, ...]
) -> None:
    assert told(HELD, seen) == events
