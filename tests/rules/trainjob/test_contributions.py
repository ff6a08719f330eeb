"""Conditions that plugins contribute: what of an answer is taken, and what becomes of it."""

from collections.abc import Iterable
from datetime import datetime
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.ports.cluster import POD_GROUPS, Resource
from jobledger.core.trainjob.building.framework import Plugin, PluginCondition
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.contributions.answers import asked
from jobledger.core.trainjob.contributions.contribution import (
    Contribution,
    RefusedCondition,
    refused_in_words,
)
from jobledger.core.trainjob.contributions.declared import declaration_problems
from jobledger.core.trainjob.contributions.taking import SOURCES_MAX
from jobledger.core.trainjob.events import PluginConditionsObserved
from jobledger.core.trainjob.observations import SeenTrainStatus
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.status.kubernetes_events import kubernetes_events
from jobledger.core.trainjob.status.status import status
from jobledger.core.values.documents import Manifest, items
from tests.rules.trainjob.rows import Row, check, table
from tests.support import trainjob_events as events
from tests.support.contributions import POD_GROUP, plugin_told, pod_group_gone
from tests.support.rows import WHEN
from tests.support.trainjobs import (
    IDENTITY,
    after,
    completed_end,
    created,
    jobset,
    jobset_gone,
    manifest,
    play,
    shown,
)

POLICY = TrainPolicy(propagates=True)
CREATED = created(policy=POLICY)


def gang(
    status: str = "False",
    reason: str = "Unschedulable",
    *,
    kind: str = "GangScheduled",
    since: float = 20,
    message: str = "",
    owner: str = "gang",
) -> Condition:
    return Condition(
        type=kind,
        is_true=status == "True",
        unknown=status == "Unknown",
        reason=reason,
        message=message,
        since=after(since),
        owner=owner,
    )


def told(
    *conditions: Condition,
    refused: tuple[RefusedCondition, ...] = (),
    version: str = "10",
    gone: bool = False,
    plugin: str = "gang",
    uid: str = POD_GROUP.uid,
) -> PluginConditionsObserved:
    source = replace(POD_GROUP, version=version, uid=uid)
    return PluginConditionsObserved(
        at=WHEN,
        contribution=Contribution(
            plugin=plugin, source=source, conditions=conditions, refused=refused
        ),
        gone=gone,
    )


def at_version(version: str) -> Any:  # noqa: ANN401 a source
    return replace(POD_GROUP, version=version)


def gone_message(was: str) -> str:
    return f"PodGroup.scheduling.x-k8s.io train is gone; it was {was}"


FOUR = [gang(kind=f"P{number}") for number in range(4)]


@table(
    Row(
        rule="a condition that is False from the first is shown",
        story=[*CREATED, plugin_told(gang())],
        then=[told(gang())],
    ),
    Row(
        rule="a condition that nobody can tell is shown as Unknown",
        story=[*CREATED, plugin_told(gang("Unknown", "NotSeenYet"))],
        then=[told(gang("Unknown", "NotSeenYet"))],
    ),
    Row(
        rule="the same again is no news, whatever the version of the object",
        story=[
            *CREATED,
            plugin_told(gang()),
            plugin_told(gang(since=30), at=30, source=at_version("11")),
        ],
        then=[],
    ),
    Row(
        rule="another message is news, and the status keeps its time",
        story=[
            *CREATED,
            plugin_told(gang()),
            plugin_told(gang(since=30, message="2 of 4"), at=30, source=at_version("11")),
        ],
        then=[told(gang(since=20, message="2 of 4"), version="11")],
    ),
    Row(
        rule="another status has the time of the change: False to Unknown is one as well",
        story=[
            *CREATED,
            plugin_told(gang()),
            plugin_told(gang("Unknown", "Lost", since=30), at=30, source=at_version("11")),
        ],
        then=[told(gang("Unknown", "Lost", since=30), version="11")],
    ),
    Row(
        rule="an older form of the object is no news",
        story=[
            *CREATED,
            plugin_told(gang("True", "Scheduled")),
            plugin_told(gang(since=30), at=30, source=at_version("9")),
        ],
        then=[],
    ),
    Row(
        rule="a condition that is not given again stays",
        story=[*CREATED, plugin_told(gang()), plugin_told(at=30, source=at_version("11"))],
        then=[told(version="11")],
    ),
    Row(
        rule="nothing of nothing is no news",
        story=[*CREATED, plugin_told()],
        then=[],
    ),
    Row(
        rule="what the plugin's answer was refused for is written down",
        story=[*CREATED, plugin_told(refused=(RefusedCondition(problem="it fails: E"),))],
        then=[told(refused=(RefusedCondition(problem="it fails: E"),))],
    ),
    Row(
        rule="a type belongs to the plugin that was first, and the other hears of it",
        story=[
            *CREATED,
            plugin_told(gang()),
            plugin_told(gang("True", "Mine"), at=30, plugin="other"),
        ],
        then=[
            told(
                plugin="other",
                refused=(
                    RefusedCondition(type="GangScheduled", problem="it belongs to the plugin gang"),
                ),
            )
        ],
    ),
    Row(
        rule="a fifth type finds no room, and that is said",
        story=[*CREATED, plugin_told(*FOUR), plugin_told(*FOUR, gang(kind="P4"), at=30)],
        then=[
            told(
                *FOUR,
                refused=(
                    RefusedCondition(
                        type="P4",
                        problem="there is room for 4 conditions of plugins, and 4 others were "
                        "first",
                    ),
                ),
            )
        ],
    ),
    Row(
        rule="the controller's own types are taken from nobody",
        story=[*CREATED, plugin_told(gang("True", "Mine", kind="Complete"))],
        then=[
            told(
                refused=(
                    RefusedCondition(
                        type="Complete", problem="the condition Complete belongs to the controller"
                    ),
                )
            )
        ],
    ),
    Row(
        rule="what stands behind a condition that is refused is taken",
        story=[*CREATED, plugin_told(gang("True", "Mine", kind="Complete"), gang())],
        then=[
            told(
                gang(),
                refused=(
                    RefusedCondition(
                        type="Complete", problem="the condition Complete belongs to the controller"
                    ),
                ),
            )
        ],
    ),
    Row(
        rule="one that was found on the object belongs to the first that contributes to it",
        story=[
            manifest(policy=POLICY, status=SeenTrainStatus(conditions=(gang(owner="", since=3),))),
            plugin_told(gang("True", "Scheduled")),
        ],
        then=[told(gang("True", "Scheduled"))],
    ),
    Row(
        rule="where the setting is off nothing is taken",
        story=[*created(), plugin_told(gang())],
        then=[],
    ),
    Row(
        rule="a job that only is recorded has its conditions from its controller",
        story=[
            *CREATED,
            manifest(15, policy=POLICY, recorded="it is Trainer's"),
            plugin_told(gang()),
        ],
        then=[],
    ),
    Row(
        rule="a job that has ended keeps its conditions",
        story=[
            *CREATED,
            plugin_told(gang()),
            jobset(60, end=completed_end()),
            plugin_told(gang("True", "Late"), at=70, source=at_version("11")),
        ],
        then=[],
    ),
    Row(
        rule="of an object that is gone the condition is Unknown, and says what it was",
        story=[*CREATED, plugin_told(gang(message="2 of 4")), pod_group_gone(40, built=False)],
        then=[
            told(
                gang(
                    "Unknown",
                    "ObjectGone",
                    since=40,
                    message=gone_message("False, Unschedulable: 2 of 4"),
                ),
                gone=True,
            )
        ],
    ),
    Row(
        rule="so it is if it was True; what was refused of the object is no matter any more",
        story=[
            *CREATED,
            plugin_told(
                gang("True", "Scheduled"), refused=(RefusedCondition(problem="it fails: E"),)
            ),
            pod_group_gone(40, built=False),
        ],
        then=[
            told(
                gang("Unknown", "ObjectGone", since=40, message=gone_message("True, Scheduled")),
                gone=True,
            )
        ],
    ),
    Row(
        rule="so is that of a JobSet that is gone",
        story=[
            *CREATED,
            jobset(10),
            plugin_told(gang(), source=replace(POD_GROUP, uid="jobset-1")),
            jobset_gone(40),
        ],
        then=[
            told(
                gang(
                    "Unknown",
                    "ObjectGone",
                    since=40,
                    message=gone_message("False, Unschedulable"),
                ),
                uid="jobset-1",
                gone=True,
            ),
            events.vanished(),
            events.ended(
                "lost", reason="JobSetDeleted", message="the JobSet was deleted by somebody"
            ),
            events.requested(attempt=1),
        ],
    ),
    Row(
        rule="late news of an object that is gone are none",
        story=[
            *CREATED,
            plugin_told(gang()),
            pod_group_gone(40, built=False),
            plugin_told(gang("True", "Late"), at=50, source=at_version("12")),
        ],
        then=[],
    ),
    Row(
        rule="of an object that is gone after the end of the job the condition stays",
        story=[
            *CREATED,
            plugin_told(gang()),
            jobset(60, end=completed_end()),
            pod_group_gone(70, built=False),
        ],
        then=[],
    ),
    Row(
        rule="so does it of a job that is being deleted with all that it owns",
        story=[
            *CREATED,
            plugin_told(gang()),
            manifest(30, generation=2, deleting=True, policy=POLICY),
            pod_group_gone(40, built=False),
        ],
        then=[],
    ),
    Row(
        rule="what another object has told since stays when the first goes",
        story=[
            *CREATED,
            plugin_told(gang()),
            plugin_told(
                gang("True", "Scheduled", since=30),
                at=30,
                source=replace(POD_GROUP, uid="second", name="second"),
            ),
            pod_group_gone(40, built=False),
        ],
        then=[told(gone=True)],
    ),
)
def test_what_becomes_of_contributions(row: Row) -> None:
    check(row)


@pytest.mark.parametrize(
    ("kind", "what"), [("", "the answer"), ("GangScheduled", "the condition GangScheduled")]
)
def test_what_is_not_taken_is_told_with_its_plugin_and_its_object(kind: str, what: str) -> None:
    told = Contribution(plugin="gang", source=POD_GROUP)
    assert refused_in_words(told, RefusedCondition(problem="it is no list", type=kind)) == (
        f"{what} of the plugin gang about PodGroup.scheduling.x-k8s.io train was not taken: "
        "it is no list"
    )


def test_one_that_was_built_is_made_again_as_well() -> None:
    played = play([*CREATED, plugin_told(gang()), pod_group_gone(40)])
    assert played.said[:2] == ["PluginConditionsObserved", "DependentVanished"]


def test_users_see_the_status_as_it_is() -> None:
    played = play([*CREATED, plugin_told(gang("Unknown", "NotSeenYet"))])
    assert items(status(played.state), "conditions")[-1] == {
        "type": "GangScheduled",
        "status": "Unknown",
        "reason": "NotSeenYet",
        "message": "",
        "lastTransitionTime": shown(20),
    }


def test_of_more_objects_than_are_looked_at_the_first_beyond_is_named() -> None:
    each = [
        plugin_told(gang(since=n), at=n, source=replace(POD_GROUP, uid=f"uid-{n}"))
        for n in range(20, 20 + SOURCES_MAX + 3)
    ]
    said = [event for event in play([*CREATED, *each]).history if type(event) is type(told())]
    assert len(said) == SOURCES_MAX == 32
    assert [len(event.contribution.refused) for event in said] == [0] * (SOURCES_MAX - 1) + [1]
    assert said[-1].contribution.conditions == ()


def test_what_is_refused_is_a_kubernetes_event() -> None:
    event = told(refused=(RefusedCondition(type="Complete", problem="it is not yours"),))
    (sent,) = kubernetes_events(IDENTITY, event)
    assert (sent.type, sent.reason) == ("Warning", "PluginConditionRefused")
    assert sent.note == (
        "the condition Complete of the plugin gang about PodGroup.scheduling.x-k8s.io train was "
        "not taken: it is not yours"
    )


class Speaker(Plugin):
    """Answers what it was made with."""

    name = "gang"
    conditions_from: tuple[Resource, ...] = (POD_GROUPS,)
    condition_types: tuple[str, ...] = ("GangScheduled", "GangQueued")

    def __init__(self, *answer: Any) -> None:  # noqa: ANN401 anything at all
        self._answer = answer

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:  # noqa: ARG002
        return self._answer


def a_condition(**changed: Any) -> PluginCondition:  # noqa: ANN401 anything at all
    given = {"type": "GangScheduled", "status": "False", "reason": "Unschedulable"}
    return PluginCondition(**{**given, **changed})


def heard(plugin: Plugin) -> Contribution:
    return asked(plugin, {}, {}, POD_GROUP, after(20))


def refusals(plugin: Plugin) -> list[tuple[str, str]]:
    found = heard(plugin)
    assert found.conditions == ()
    return [(one.type, one.problem) for one in found.refused]


def test_an_answer_is_taken_with_its_plugin_and_its_time() -> None:
    early = a_condition(since=after(7), message="m" * 5000)
    (found,) = heard(Speaker(early)).conditions
    assert (found.owner, found.since, found.status) == ("gang", after(7), "False")
    assert (len(found.message), found.message[-1]) == (1000, "…")
    (odd,) = heard(Speaker(a_condition(message="a\x00b\ud800"))).conditions
    assert odd.message == "a\ufffdb\ufffd", "Postgres takes neither"
    (late,) = heard(Speaker(a_condition(since=after(99)))).conditions
    assert late.since == after(20), "not later than it was seen"


NO_TYPE = "is no type of a condition: it is a name, as GangScheduled"


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (a_condition(type="no good"), "no good", f"'no good' {NO_TYPE}"),
        (a_condition(type="x" * 317), "x" * 80 + "…", f"'{'x' * 80}…' {NO_TYPE}"),
        (a_condition(type=7), "", f"a int {NO_TYPE}"),
        (a_condition(type="Failed"), "Failed", "the condition Failed belongs to the controller"),
        (
            a_condition(type="Other"),
            "Other",
            "it is not among the condition_types that the plugin declares",
        ),
        (
            a_condition(status="true"),
            "GangScheduled",
            "'true' is no status: it is True, False or Unknown, as a text",
        ),
        (
            a_condition(status=True),
            "GangScheduled",
            "a bool is no status: it is True, False or Unknown, as a text",
        ),
        (
            a_condition(reason=""),
            "GangScheduled",
            "'' is no reason: it is one word, as PodsPending",
        ),
        (
            a_condition(reason="r" * 1025),
            "GangScheduled",
            f"'{'r' * 80}…' is no reason: it is one word, as PodsPending",
        ),
        (
            a_condition(message="m" * 32_769),
            "GangScheduled",
            "its message is no text of at most 32768 characters",
        ),
        (
            a_condition(since=datetime(2026, 11, 21)),  # noqa: DTZ001 that is the point
            "GangScheduled",
            "its `since` is no instant with a time zone",
        ),
        ("False", "", "it gives str in place of a condition"),
        (None, "", "it gives NoneType in place of a condition"),
    ],
)
def test_an_answer_that_is_no_condition_is_refused_by_name(
    answer: Any,  # noqa: ANN401 anything at all
    kind: str,
    why: str,
) -> None:
    assert refusals(Speaker(answer)) == [(kind, why)]


@pytest.mark.parametrize("answer", ["True", "False", "Unknown"])
def test_each_status_is_taken_as_it_is_given(answer: str) -> None:
    (taken,) = heard(Speaker(a_condition(status=answer))).conditions
    assert taken.status == answer


def test_a_type_that_is_given_twice_is_taken_once() -> None:
    found = heard(Speaker(a_condition(), a_condition(status="True")))
    assert [item.status for item in found.conditions] == ["False"]
    assert [one.problem for one in found.refused] == ["it is given twice"]


class Endless(Speaker):
    """Never stops giving conditions."""

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:  # noqa: ARG002
        return (a_condition(type=f"T{number}") for number in count())


def test_of_an_answer_without_end_the_beginning_is_looked_at() -> None:
    found = refusals(Endless())
    assert len(found) == 9
    assert found[-1] == ("", "it gives more than 8 conditions")


def test_as_much_as_is_looked_at_is_taken_whole() -> None:
    types = tuple(f"T{number}" for number in range(8))
    plugin = Speaker(*(a_condition(type=kind, message="m" * 1000) for kind in types))
    plugin.condition_types = types
    found = heard(plugin)
    assert (tuple(item.type for item in found.conditions), found.refused) == (types, ())
    assert {item.message for item in found.conditions} == {"m" * 1000}


@pytest.mark.parametrize(
    "longest", [{"reason": "r" * 1024}, {"message": "m" * 32_768}, {"type": "x" * 316}]
)
def test_what_is_as_long_as_it_may_be_is_taken(longest: dict[str, str]) -> None:
    plugin = Speaker(a_condition(**longest))
    plugin.condition_types = ("GangScheduled", "x" * 316)
    assert heard(plugin).refused == ()


class Failing(Speaker):
    """Raises what cannot even be told."""

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:  # noqa: ARG002
        class Odd(Exception):
            def __str__(self) -> str:
                raise ValueError

        raise Odd


def test_a_plugin_that_fails_is_refused_whatever_it_raises() -> None:
    assert refusals(Failing()) == [("", "it fails: Odd")]


class Undeclared(Plugin):
    """Gives conditions and says of none."""

    name = "undeclared"

    def conditions(self, job: Manifest, observed: Manifest) -> Iterable[PluginCondition]:  # noqa: ARG002
        return ()


def declaring(**attributes: Any) -> Plugin:  # noqa: ANN401 anything at all
    plugin = Speaker()
    for name, value in attributes.items():
        setattr(plugin, name, value)
    return plugin


class Silent(Plugin):
    """Declares conditions, or objects that they come from, and gives none."""

    name = "silent"

    def __init__(self, types: tuple[str, ...], sources: tuple[Resource, ...]) -> None:
        self.condition_types, self.conditions_from = types, sources


SECRETS = Resource("", "v1", "secrets", "Secret")
GIVES_NONE = "it declares conditions and has no method `conditions` that gives any"


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (Undeclared(), "it gives conditions and declares none in condition_types"),
        (Silent(("GangScheduled",), ()), GIVES_NONE),
        (Silent((), (POD_GROUPS,)), GIVES_NONE),
        (
            declaring(conditions_from=()),
            "it gives conditions and says in conditions_from of no kind of object",
        ),
        (declaring(condition_types="GangScheduled"), "condition_types is no tuple of texts"),
        (declaring(conditions_from=POD_GROUPS), "conditions_from is no tuple of Resources"),
        (
            declaring(conditions_from=(SECRETS,)),
            "conditions_from names Secrets, which are never watched",
        ),
        (declaring(condition_types=("a b",)), f"'a b' {NO_TYPE}"),
        (
            declaring(condition_types=("Created",)),
            "the condition Created belongs to the controller",
        ),
        (
            declaring(condition_types=("JobSetRestarted",), name="a"),
            "the condition JobSetRestarted belongs to the plugin a",
        ),
    ],
)
def test_what_a_plugin_declares_is_judged_before_any_job_is_seen(
    plugin: Plugin, problem: str
) -> None:
    assert [why for _, why in declaration_problems(all_plugins(plugin))] == [problem]


def test_what_is_declared_well_passes() -> None:
    assert list(declaration_problems(all_plugins(Speaker()))) == []
