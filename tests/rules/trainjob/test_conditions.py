"""The list of conditions: setting, merging what plugins contribute, order."""

from jobledger.core.trainjob.conditions import Condition, in_seed_order, merged, with_condition
from jobledger.core.trainjob.policy import TrainPolicy
from tests.support.trainjobs import after, created, jobset, play, seen

POLICY = TrainPolicy(propagates=True)


def condition(
    kind: str, owner: str = "", *, at: float = 0, is_true: bool = True, message: str = ""
) -> Condition:
    return Condition(
        type=kind, is_true=is_true, reason="Because", message=message, since=after(at), owner=owner
    )


def test_a_condition_is_changed_in_its_place_and_keeps_its_time_unless_it_flips() -> None:
    before = (condition("A"), condition("B"))
    told = with_condition(before, condition("A", at=5, message="again"))
    assert [(item.type, item.since, item.message) for item in told] == [
        ("A", after(0), "again"),
        ("B", after(0), ""),
    ]
    assert with_condition(told, condition("A", at=9, is_true=False))[0].since == after(9)


def test_the_time_of_a_transition_never_goes_back_though_a_clock_does() -> None:
    told = with_condition((condition("A", at=9),), condition("A", at=5, is_true=False))
    assert [(item.is_true, item.since) for item in told] == [(False, after(9))]


def test_what_plugins_contribute_is_added_in_their_order() -> None:
    found = merged((condition("Created"),), [condition("B", "one"), condition("A", "two")])
    assert [item.type for item in found] == ["Created", "B", "A"]


def test_a_type_belongs_to_whoever_contributed_it_first() -> None:
    found = merged((), [condition("A", "one"), condition("A", "two", message="mine")])
    assert [(item.owner, item.message) for item in found] == [("one", "")]


def test_the_controllers_own_four_are_nobody_elses() -> None:
    own = [condition(kind, "one") for kind in ("Created", "Suspended", "Complete", "Failed")]
    assert merged((), own) == ()


def test_at_most_eight_are_shown_and_the_four_always_have_room() -> None:
    assert len(merged((), [condition(f"P{number}", "one") for number in range(9)])) == 4


def test_a_condition_that_is_not_true_is_flipped_and_never_added() -> None:
    assert merged((), [condition("A", "one", is_true=False)]) == ()
    found = merged((condition("A", "one"),), [condition("A", "one", is_true=False, at=3)])
    assert [(item.is_true, item.since) for item in found] == [(False, after(3))]


def test_merging_again_changes_nothing() -> None:
    told = [condition("A", "one"), condition("B", "two")]
    once = merged((), told)
    assert merged(once, told) == once


def test_created_is_shown_first_and_the_end_last() -> None:
    shown = in_seed_order(
        (condition("Suspended"), condition("Failed"), condition("A", "one"), condition("Created"))
    )
    assert [item.type for item in shown] == ["Created", "Suspended", "A", "Failed"]


def test_contributions_are_shown_where_the_setting_says_so() -> None:
    told = (condition("JobSetRestarted", "jobset", at=9),)
    off = play([*created(), jobset(10, contributed=told)])
    on = play([*seen(policy=POLICY), *created(policy=POLICY)[2:], jobset(10, contributed=told)])
    assert off.conditions == ["Created=True/JobsCreationSucceeded"]
    assert on.conditions == ["Created=True/JobsCreationSucceeded", "JobSetRestarted=True/Because"]


def test_a_contribution_that_changes_is_news_and_one_that_cannot_be_shown_is_none() -> None:
    told = (condition("A", "one", at=9),)
    story = [*created(policy=POLICY), jobset(10, contributed=told)]
    louder = (condition("A", "one", at=9, message="louder"),)
    assert play([*story, jobset(11, contributed=louder)]).said == ["JobSetObserved"]
    stolen = (*told, condition("A", "two", at=9))
    assert play([*story, jobset(12, contributed=stolen)]).said == []


def test_a_condition_that_was_found_belongs_to_the_first_that_contributes_to_it() -> None:
    found = merged((condition("A"),), [condition("A", "one", is_true=False)])
    assert [(item.owner, item.is_true) for item in found] == [("one", False)]
