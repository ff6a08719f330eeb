"""What is told of plugins' conditions: in the timeline, in the account, and what was refused."""

from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.trainjob.events import PluginConditionsObserved
from tests.support.recorded import stored
from tests.support.train_lives import recorded_training

GROUP = "PodGroup.scheduling.x-k8s.io train"
NOT_TAKEN = (
    f"the condition GangScheduled of the plugin other about {GROUP} was not taken: it belongs to "
    "the plugin gang"
)
SCHEDULED = f"GangScheduled=True/Scheduled (plugin gang, of {GROUP})"
LOST = (
    f"GangScheduled=Unknown/ObjectGone (plugin gang, of {GROUP}, which is gone): {GROUP} is gone; "
    "it was True, Scheduled"
)
NOW = (
    "GangScheduled is Unknown since 2026-11-21T12:00:25Z (Unschedulable: 2 of 4 Pods), as the "
    f"plugin gang reads {GROUP} (uid uid-of-second-group, resourceVersion 30)."
)


def dossier(last: int = 1000) -> Dossier:
    """Return a life with conditions of plugins, up to a version of its stream."""
    records = [
        item
        for item in recorded_training("training-with-plugin-conditions")
        if item.version <= last
    ]
    return Dossier(events=stored(records), evidence=reader_of({}), origin="a test")


def told(last: int = 1000) -> list[str]:
    return [one.text for one in explain(dossier(last)).sentences if "plugin " in one.text]


def test_the_timeline_has_each_change_its_object_and_what_was_refused() -> None:
    events = [one.event for one in dossier().read()]
    lines = [in_words(event) for event in events if isinstance(event, PluginConditionsObserved)]
    assert lines == [
        f"GangScheduled=False/Unschedulable (plugin gang, of {GROUP}): 2 of 4 Pods",
        NOT_TAKEN,
        SCHEDULED,
        f"no condition (plugin other, of {GROUP}, which is gone)",
        LOST,
        f"GangScheduled=Unknown/Unschedulable (plugin gang, of {GROUP}): 2 of 4 Pods",
    ]


def test_the_account_says_what_holds_now_by_which_version() -> None:
    assert told() == [NOW]
    (sentence,) = (one for one in explain(dossier()).sentences if one.text == NOW)
    (version,) = sentence.versions
    assert isinstance(dossier().read()[version - 1].event, PluginConditionsObserved)


def test_the_account_says_what_is_not_shown_while_its_object_is_there() -> None:
    seen = [one.version for one in dossier().read() if in_words(one.event) == SCHEDULED]
    assert f"Not shown: {NOT_TAKEN}." in told(seen[0])
