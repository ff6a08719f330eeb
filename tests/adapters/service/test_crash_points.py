"""The process dies, or an answer is lost, before or after the calls of a port.

With `JOBLEDGER_EXAMPLES` in the environment, whatever its value: at every single call of each life.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from jobledger.adapters.postgres.refolding.rebuilding import compare, replace
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History
from jobledger.core.ports.projections import Projections
from jobledger.core.values.ids import StreamId
from tests.adapters.service.chosen_steps import Kind, chosen
from tests.adapters.service.job_lives import JOB_LIVES
from tests.adapters.service.lives import (
    LIVES,
    MODES_OF_SUBMISSION,
    Outcome,
    Story,
    outcome_in,
    outcome_of,
)
from tests.adapters.service.stories import (
    K8S,
    assert_whole,
    deletion_story,
    phases_shown,
    retry_story,
    suspension_story,
)
from tests.adapters.service.train_lives import TRAIN_LIVES
from tests.support.crash_points import MODES, Crash, Fuse, Mode, fused
from tests.support.effectful_steps import (
    HARMLESS,
    LOOKS,
    UNUSED,
    all_calls,
    is_harmless,
    knowing_effects,
    ports,
    wanted_points,
)
from tests.support.service_world import ServiceWorld

pytestmark = pytest.mark.faults

DEADLY: tuple[Mode, ...] = ("die before", "die after")

RETRIED = "retried to success"
"""The life in which it dies at every step, and after each too.

Between two steps nothing changes outside of the process: who dies after one leaves what somebody
leaves who dies before the next, so that the other lives say the same with half of the deaths. Those
that begin as this one does have their first death where they part from it.
"""


@pytest.mark.parametrize("submission", MODES_OF_SUBMISSION)
def test_without_faults_users_see_every_phase_of_a_retry(submission: str) -> None:
    world, stream = retry_story(submission, fails=2)
    assert_whole(world, stream)
    attempt = ["Initializing", "Running"]
    assert phases_shown(world) == [
        *attempt,
        "Retrying",
        *attempt,
        "Retrying",
        *attempt,
        "Complete",
    ]
    assert world.fuse.blown == ""


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in DEADLY])
@pytest.mark.parametrize("submission", MODES_OF_SUBMISSION)
def test_a_retry_comes_to_its_end_whatever_call_is_not_answered(
    submission: str, mode: Mode
) -> None:
    whole = retry_story(submission)
    outcome, kinds = outcome_of(*whole), whole[0].fuse.kinds
    for number in chosen(kinds):
        if mode == "lose the answer" and is_harmless(kinds[number - 1][0]):
            continue  # to lose what was read is to have been refused
        world, stream = retry_story(submission, Fuse(number, mode))
        where = f"call {number}, {mode} {world.fuse.blown}"
        assert_whole(world, stream)
        assert world.deaths == 0, where
        assert outcome_in(world, stream) == outcome, where


def logged(world: ServiceWorld, stream: StreamId) -> str:
    """Return the log of a job, for who has to find out why it came to another end."""
    records = (item.record for item in world.store.read_stream(stream))
    return "\n".join(f"{record.type} {record.payload!r}" for record in records)


@pytest.mark.parametrize("submission", MODES_OF_SUBMISSION)
@pytest.mark.parametrize(
    ("life", "mode"), [*((life, "die before") for life in LIVES), (RETRIED, "die after")]
)
def test_a_death_at_any_step_of_any_life_changes_nothing_of_its_end(
    life: str, submission: str, mode: Mode
) -> None:
    outcome, kinds = undisturbed(life, submission)
    if life == RETRIED:
        steps: Sequence[int] = range(1, len(kinds) + 1)
    else:
        steps = list(chosen(kinds, begins_as=undisturbed(RETRIED, submission)[1]))
    assert steps
    for number in steps:
        world, stream = LIVES[life](submission, Fuse(number, mode, steps_only=True))
        where = f"call {number}, {mode} {world.fuse.blown}"
        assert outcome_of(world, stream) == outcome, f"{where}: {logged(world, stream)}"
        assert world.deaths == 1, where


def undisturbed(life: str, submission: str) -> tuple[Outcome, list[Kind]]:
    """Return how a life ends in which nobody dies, and what each of its steps does."""
    with knowing_effects():
        world, stream = LIVES[life](submission, Fuse(steps_only=True))
    return outcome_of(world, stream), world.fuse.kinds


@pytest.mark.parametrize("story", [deletion_story, suspension_story])
def test_deletion_and_suspension_come_to_their_ends_whatever_answer_is_lost(story: Story) -> None:
    kinds = story(K8S, Fuse(steps_only=True))[0].fuse.kinds
    for number in chosen(kinds):
        world, stream = story(K8S, Fuse(number, "lose the answer", steps_only=True))
        assert_whole(world, stream)


@pytest.mark.parametrize("mode", DEADLY)
def test_a_rebuilding_that_dies_is_done_by_the_next(mode: Mode) -> None:
    world, stream = retry_story(K8S)
    fuse = Fuse(1, mode, steps_only=True)
    parts = RebuiltParts(world, fused(world.projections, "Projections", fuse, LedgerUnavailable))
    with pytest.raises(Crash):
        replace(parts, stream)
    assert fuse.blown == "Projections.replace_rows"
    assert compare(world, stream) == []
    assert replace(world, stream) == []


@dataclass(frozen=True)
class RebuiltParts:
    """A world whose tables are replaced through a port that breaks."""

    world: ServiceWorld
    projections: Projections

    @property
    def store(self) -> EventStore:
        return self.world.store

    @property
    def history(self) -> History:
        return self.world.history


def test_every_step_that_the_ports_have_is_hit_by_a_life() -> None:
    """What is generated from the ports and from the kinds of effects, and hit by nobody, is red.

    Deaths before and after each step of a TrainJob's lives are in `test_trainjobs`, of a Job's in
    `test_batch_jobs`.
    """
    hit = {"Projections.replace_rows"}  # by the rebuilding above
    with knowing_effects():
        for story in LIVES.values():
            for submission in MODES_OF_SUBMISSION:
                hit |= story(submission, Fuse(steps_only=True))[0].fuse.points
        for life in TRAIN_LIVES.values():
            hit |= life(Fuse(steps_only=True))[0].fuse.points
        for job in JOB_LIVES.values():
            hit |= job(Fuse(steps_only=True)).fuse.points
    assert wanted_points() - hit == set()


def test_what_is_excused_is_there_and_taken_by_no_life() -> None:
    """An excuse that has become void is red, too."""
    assert set(HARMLESS) | set(UNUSED) <= all_calls() | set(ports())
    assert {*LOOKS} <= {kind.value for kind in EffectKind}
    fuses = [
        story(submission, Fuse())[0].fuse
        for story in LIVES.values()
        for submission in MODES_OF_SUBMISSION
    ]
    fuses += [story(Fuse())[0].fuse for story in TRAIN_LIVES.values()]
    fuses += [life(Fuse()).fuse for life in JOB_LIVES.values()]
    assert {name for fuse in fuses for name in fuse.calls} & set(UNUSED) == set()
    hit = {point for fuse in fuses for point in fuse.points}
    assert hit & {f"act {kind}" for kind in LOOKS} == set()


def test_two_deaths_one_after_the_other_do_no_more_harm_than_one() -> None:
    """The second right after the start, while everything is read again."""
    calls = len(retry_story(K8S)[0].fuse.calls)
    for number in range(5, calls, 9):
        for later in (1, 3, 6):
            fuse = TwiceBlown(number, "die after", later)
            world, stream = retry_story(K8S, fuse)
            assert_whole(world, stream)
            assert world.deaths == 2


class TwiceBlown(Fuse):
    """A fuse that blows again some calls later."""

    def __init__(self, at: int, mode: Mode, later: int) -> None:
        super().__init__(at, mode)
        self._again = at + later

    def count(self, name: str) -> bool:
        first = super().count(name)
        return first or len(self.calls) == self._again
