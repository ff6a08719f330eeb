"""What a recorded or held job shows, and in which order it follows on a change of control."""

import pytest

from jobledger.core.jobs.control.control_change import control_and_status, control_change, held
from jobledger.core.jobs.events import ControlReleased, ControlTaken
from jobledger.core.rayjob.events.lifecycle import OthersStatusObserved
from jobledger.core.rayjob.observations.observations import SeenStatus
from tests.support.records import NOON

KUEUE = "spec.managedBy names another controller"
SHOWN = OthersStatusObserved(at=NOON, status=SeenStatus(phase="Running"))
RELEASED = ControlReleased(at=NOON, why=KUEUE)
TAKEN = ControlTaken(at=NOON, recorded_since=NOON, recorded_because=KUEUE)


@pytest.mark.parametrize(
    ("is_recorded", "why", "is_news", "events"),
    [
        (False, "", False, ()),
        (False, KUEUE, False, (RELEASED,)),
        (False, KUEUE, True, (RELEASED, SHOWN)),
        (True, KUEUE, False, ()),
        (True, KUEUE, True, (SHOWN,)),
        (True, "", False, (TAKEN,)),
        (True, "", True, (SHOWN, TAKEN)),  # the job goes on from what the other did last
    ],
)
def test_what_another_did_last_is_known_before_control_is_taken(
    is_recorded: bool, why: str, is_news: bool, events: tuple[object, ...]
) -> None:
    changed = control_change(NOON if is_recorded else None, KUEUE, why, NOON)
    assert control_and_status(changed, SHOWN, why, is_news=is_news) == events


@pytest.mark.parametrize(
    ("told", "is_news", "is_old", "events"),
    [
        ("", False, False, ()),
        ("", True, False, (SHOWN,)),
        ("", True, True, ()),  # a status of our own from before
        (KUEUE, False, True, (RELEASED,)),
        (KUEUE, True, True, (RELEASED, SHOWN)),  # no status of our own: it is another's job
    ],
)
def test_a_held_job_is_let_go_if_another_controller_is_to_have_it(
    told: str, is_news: bool, is_old: bool, events: tuple[object, ...]
) -> None:
    assert held(SHOWN, told, is_news=is_news, is_old=is_old) == events
