"""The end of a submitter is told along with what the head says of it."""

from jobledger.core.rayjob.observations.observations import PollAnswered, SubmitterSeen
from jobledger.core.values.ids import observation_id
from tests.adapters.service.test_polls import Desk, desk

__all__ = ["desk"]


def submitter_end(desk: Desk) -> SubmitterSeen:
    return SubmitterSeen(
        id=observation_id(desk.stream, "submitter", "ended"),
        at=desk.clock.now(),
        name="train",
        uid="u",
        owned=True,
        finished="Complete",
        finished_at=desk.clock.now(),
        reason="",
        message="",
        deleting=False,
    )


def test_an_end_is_told_along_with_the_answer_of_the_head(desk: Desk) -> None:
    desk.watch()
    desk.ask()
    desk.said()
    end = submitter_end(desk)
    assert desk.polls.tell_with_answer(desk.stream, end)
    desk.watch(look_wanted=True)  # the state knows of the end before the answer has come
    assert desk.ask(0) == 1
    desk.watch(look_wanted=True)  # and before that is decided on
    assert desk.ask(0) == 0, "it is not asked again"
    told, answer = desk.said()
    assert told == end, "the end comes first"
    assert isinstance(answer, PollAnswered)


def test_a_look_that_the_state_wants_later_is_taken_although_an_end_was_told(desk: Desk) -> None:
    desk.watch()
    assert desk.polls.tell_with_answer(desk.stream, submitter_end(desk))
    desk.ask(0)
    desk.watch()
    desk.watch(look_wanted=True)
    assert desk.ask(0) == 1


def test_an_end_that_is_seen_during_a_question_waits_for_no_answer(desk: Desk) -> None:
    """It may have been given before the end."""
    told: list[bool] = []
    desk.before_answer = lambda: told.append(
        desk.polls.tell_with_answer(desk.stream, submitter_end(desk))
    )
    desk.watch()
    assert (desk.ask(), told, len(desk.said())) == (1, [False], 1)


def test_where_nobody_is_asked_an_end_is_not_told(desk: Desk) -> None:
    assert not desk.polls.tell_with_answer(desk.stream, submitter_end(desk))
    assert desk.said() == []
