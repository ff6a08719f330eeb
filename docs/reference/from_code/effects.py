"""The pages of decisions (what is done later) and effects (what is done outside)."""  # noqa: INP001 see generate.py

from collections.abc import Iterator
from enum import Enum

from docs.reference.from_code.attributes import attributes, cell, class_words, code
from jobledger.core.jobs import policy
from jobledger.core.jobs.pending import decisions, effects
from jobledger.core.jobs.retries import retry

DECISIONS = """\
# Decisions

A decision is something the controller has resolved to do at a later instant. It is scheduled by
one event (`DecisionScheduled`) and ends in exactly one (`DecisionFired` or `DecisionCancelled`);
until then it is a row of the table `decision` in the state `pending`. Which decisions a job has
follows from its state alone: one that the state no longer calls for is cancelled in the same append
that changed the state.
"""

EFFECTS = """\
# Effects

An effect is something the controller does outside. It is asked for by an event (`EffectRequested`)
before anything is sent, and ends in `EffectSucceeded`, `EffectFailed` or `EffectSuperseded`;
`EffectFaltered` says that it goes on being tried. Writing `.status` is no effect: it is repeated
until the object shows the newest state, and each write that succeeded is a `StatusPublished`.
"""


def decisions_page() -> str:
    """Return the page of decisions."""
    return "\n".join((DECISIONS, *_decisions()))


def effects_page() -> str:
    """Return the page of effects."""
    return "\n".join((EFFECTS, *_effects()))


def _decisions() -> Iterator[str]:
    yield "## Kinds\n"
    yield "| kind | what it means | a look first |"
    yield "|---|---|---|"
    words = {member.name: member.words for member in attributes(decisions.DecisionKind)}
    for kind in decisions.DecisionKind:
        looks = "yes" if kind in decisions.LOOK_FIRST else ""
        yield f"| `{kind.value}` | {cell(words[kind.name])} | {looks} |"
    yield ""
    yield "*A look first*: the Ray job is asked once more before the firing is judged. See"
    yield "[a look before the end](../decisions/0009-look-before-the-end.md).\n"
    yield "## The retry rule\n"
    yield f"Never retried, whatever `backoffLimit`: {_names(retry.NEVER_RETRIED)}. Any other"
    yield "failed attempt is followed by another as long as `failed` is not above `backoffLimit`.\n"
    yield "## What they are judged by\n"
    yield f"{class_words(policy.Policy)} They are recorded with the manifest"
    yield "(`ManifestReceived.policy`); their values are [settings](settings.md).\n"
    yield "| field | default | meaning |"
    yield "|---|---|---|"
    for field in attributes(policy.Policy):
        yield f"| `{field.name}` | {code(field.default)} | {cell(field.words)} |"


def _names(values: frozenset[str]) -> str:
    return ", ".join(f"`{value}`" for value in sorted(values))


def _effects() -> Iterator[str]:
    yield "## Kinds\n"
    yield "| kind | built from the specification |"
    yield "|---|---|"
    for kind in effects.EffectKind:
        built = "yes" if kind in effects.BUILT_FROM_SPEC else ""
        yield f"| `{kind.value}` | {built} |"
    yield ""
    yield "*Built from the specification*: superseded, and decided anew, if the live specification"
    yield "is no longer the one the effect was decided on.\n"
    yield "## Outcomes of one try\n"
    yield from _enum(effects.Outcome)


def _enum(cls: type[Enum]) -> Iterator[str]:
    yield "| outcome | meaning |"
    yield "|---|---|"
    words = {member.name: member.words for member in attributes(cls)}
    for member in cls:
        meaning = words[member.name] or "It was done, or found done."
        yield f"| `{member.value}` | {cell(meaning)} |"
