"""What strangers write, at each place where it is told: shown, never obeyed, and never too long.

A termination message, a name, a message of a condition or of Ray's, a Kubernetes Event's.
"""

import re
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evidence.evidence import TEXT_CHARACTERS_MAX
from jobledger.core.jobs.evidence.pods import kubernetes_events_kept, pod_evidence
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.status.kubernetes_events import NOTE_MAX_BYTES
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.log.storable import WORD_CHARACTERS_MAX
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import ManifestRejected, RayJobEvent
from jobledger.core.rayjob.observations.observations import PollAnswered
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status import kubernetes_events as of_rayjobs
from jobledger.core.rayjob.status.status import status as rayjob_status
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.phases import FAILED
from jobledger.core.trainjob.status import kubernetes_events as of_trainjobs
from jobledger.core.trainjob.status.status import MESSAGE_MAX
from jobledger.core.trainjob.status.status import status as trainjob_status
from jobledger.core.values.documents import Json, Manifest, items, text
from jobledger.core.values.ids import EffectId
from tests.support import rayjob_stories as stories
from tests.support import trainjob_events as told
from tests.support import trainjobs
from tests.support.recorded import dossier_of
from tests.support.rows import Step, play
from tests.support.trainjobs import IDENTITY, after
from tests.support.trainjobs import play as play_training

TEXTS = {
    "a colour": "\x1b[31mred\x1b[0m",
    "the clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "a control of C1": "\x9b31m\x9d0;owned\x9c",
    "a return": "Failed\rComplete",
    "line ends": "failed\n  9.000 s  12 JobCompleted  the job is complete\r\nNormal  Created",
    "other line ends": "one\x0btwo\x0cthree\x85four\u2028five\u2029six",
    "another direction": "\u202egnp.exe\u202c \u2066x\u2069",
    "nothing that is seen": "tr\u200bain\ufeff\u2060\U000e0041",
    "a NUL": "a\x00b",
    "half of a character": "a\ud800b\udfff",
    "a line of a megabyte": "x" * 1_048_576,
    "a megabyte of three bytes each": "\u20ac" * 1_048_576,
    "a megabyte that is escaped": "\u202e" * 1_048_576,
}
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
REDACTOR = Redactor(b"a key of the installation, 32 by", ())
MESSAGE_CHARACTERS_MAX = 20_000
"""As much of a message comes in at the door."""


def at_the_door(said: str) -> str:
    """Return a message as an observation holds it."""
    return REDACTOR.text(said, MESSAGE_CHARACTERS_MAX)


def failing(said: str) -> tuple[Step, ...]:
    """Return the story of a RayJob whose entrypoint fails with a message."""
    told_by_ray, ended = stories.failing()
    assert isinstance(told_by_ray, PollAnswered)
    return *stories.working(), replace(told_by_ray, message=at_the_door(said)), ended


def rayjob_state(said: str) -> RayJobState:
    return play(RAYJOB, failing(said)).state


def told_of_rayjob(event: RayJobEvent) -> str:
    (sent,) = of_rayjobs.kubernetes_events(IDENTITY, event)
    return sent.note


def told_of_trainjob(event: TrainJobEvent) -> str:
    (sent,) = of_trainjobs.kubernetes_events(IDENTITY, event)
    return sent.note


def refused(said: str) -> shared.EffectFailed:
    effect = EffectId(IDENTITY.stream_id)
    kind, trouble = EffectKind.CREATE_CLUSTER, at_the_door(said)
    return shared.EffectFailed(at=after(1), effect_id=effect, kind=kind, name="r", trouble=trouble)


def rejected(said: str) -> ManifestRejected:
    message = at_the_door(said)
    return ManifestRejected(at=after(1), generation=1, kind="InvalidRayJobSpec", message=message)


def behind(said: str) -> shared.LedgerBehindFound:
    return shared.LedgerBehindFound(at=after(1), signs=(at_the_door(said),))


def condition(said: str) -> str:
    message = at_the_door(said)
    shown = Condition(type=FAILED, is_true=True, reason="R", message=message, since=after(1))
    state = replace(play_training(trainjobs.running()).state, conditions=(shown,))
    (written,) = items(trainjob_status(state), "conditions")
    return text(written, "message")


def explained(said: str) -> str:
    sentences = explain(dossier_of(failing(said))).sentences
    return " ".join(sentence.text for sentence in sentences)


def history_of_rayjob(said: str) -> str:
    return max((in_words(event) for event in play(RAYJOB, failing(said)).history), key=len)


WORDS_SHOWN = 10 * MESSAGE_CHARACTERS_MAX + 1_000
"""A line of a history holds a whole message, each character of it as an escape of up to ten."""
PLACES: dict[str, tuple[Callable[[str], str], int]] = {
    "Event: an invalid RayJob": (lambda said: told_of_rayjob(rejected(said)), NOTE_MAX_BYTES),
    "Event: an effect refused": (lambda said: told_of_rayjob(refused(said)), NOTE_MAX_BYTES),
    "Event: a held RayJob": (lambda said: told_of_rayjob(behind(said)), NOTE_MAX_BYTES),
    "Event: a held TrainJob": (lambda said: told_of_trainjob(behind(said)), NOTE_MAX_BYTES),
    "Event: a TrainJob that is not built": (
        lambda said: told_of_trainjob(told.not_built(at_the_door(said))),
        NOTE_MAX_BYTES,
    ),
    "Event: a failed TrainJob": (
        lambda said: told_of_trainjob(
            told.failed("R", message=at_the_door(said), ended_at=after(9))
        ),
        NOTE_MAX_BYTES,
    ),
    "Event: an attempt of a TrainJob": (
        lambda said: told_of_trainjob(told.started(2, cause=at_the_door(said))),
        NOTE_MAX_BYTES,
    ),
    "history: an invalid RayJob": (lambda said: in_words(rejected(said)), WORDS_SHOWN),
    "history: an effect refused": (lambda said: in_words(refused(said)), WORDS_SHOWN),
    "history: a failed RayJob": (history_of_rayjob, WORDS_SHOWN),
    "history: a failed TrainJob": (
        lambda said: in_words(told.failed("R", message=at_the_door(said), ended_at=after(9))),
        WORDS_SHOWN,
    ),
    "explain": (explained, 30_000),
}
"""Places of one line, and how many bytes each may have."""
STATUSES: dict[str, Callable[[str], str]] = {
    "a RayJob's message": lambda said: text(rayjob_status(rayjob_state(said)), "message"),
    "a TrainJob's condition": condition,
}


@pytest.mark.parametrize("said", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(("tell", "longest"), PLACES.values(), ids=PLACES)
def test_where_a_line_is_told_a_text_is_one_line_that_nobody_obeys(
    tell: Callable[[str], str], longest: int, said: str
) -> None:
    shown = tell(said)
    assert OBEYED.search(shown) is None
    assert "\n" not in shown
    assert 0 < len(shown.encode()) <= longest


@pytest.mark.parametrize("said", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("tell", STATUSES.values(), ids=STATUSES)
def test_a_status_shows_lines_and_obeys_nothing(tell: Callable[[str], str], said: str) -> None:
    shown = tell(said)
    assert OBEYED.search(shown) is None
    assert 0 < len(shown) <= MESSAGE_MAX
    assert ("\n" in shown) is ("\n" in said)


@pytest.mark.parametrize("said", TEXTS.values(), ids=TEXTS)
def test_evidence_holds_what_the_log_can_hold_and_no_more(said: str) -> None:
    """Names come unchecked: whoever may write the status of a Pod may write any container's."""

    def scrub(one: str) -> str:
        return REDACTOR.text(one, MESSAGE_CHARACTERS_MAX)

    ended: Manifest = {"terminated": {"exitCode": 1, "reason": said, "message": said}}
    waits: Manifest = {"waiting": {"reason": said, "message": said}}
    statuses: list[Json] = [{"name": said, "state": ended}, {"name": said, "state": waits}]
    pod: Manifest = {
        "metadata": {"name": said, "uid": said, "labels": {"ray.io/node-type": said}},
        "spec": {"nodeName": said},
        "status": {
            "phase": said,
            "reason": said,
            "message": said,
            "containerStatuses": statuses,
        },
    }
    about: Manifest = {"kind": said, "name": said}
    event: Manifest = {"involvedObject": about, "type": said, "reason": said, "message": said}
    kept = (pod_evidence(pod, scrub), *kubernetes_events_kept([event], scrub))
    written = msgspec.json.encode(kept).decode()
    assert "\\u0000" not in written
    assert len(written) < 30 * max(WORD_CHARACTERS_MAX, TEXT_CHARACTERS_MAX)
