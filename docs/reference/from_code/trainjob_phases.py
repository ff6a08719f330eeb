"""The page of a TrainJob's conditions and phases: diagrams made from the tables."""  # noqa: INP001 see generate.py

import inspect
from collections.abc import Iterator, Mapping

from jobledger.core.trainjob import phases
from jobledger.core.trainjob.building import framework
from jobledger.core.trainjob.phases import ENTERED, FINAL, FOLLOWERS, REASONS, Phase
from jobledger.core.trainjob.plugins import all_plugins

HEAD = "# Conditions and phases of a TrainJob\n"


def trainjob_phases_page() -> str:
    """Return the page."""
    return "\n".join(
        (
            HEAD,
            _theory(phases.__doc__),
            "",
            *_diagram(),
            "",
            *_conditions(),
            "",
            *_table(),
            "",
            *_framework(),
        )
    )


def _theory(docstring: str | None) -> str:
    _, *paragraphs = inspect.cleandoc(docstring or "").split("\n\n")
    return "\n\n".join(
        part if part.startswith("1.") else " ".join(part.split()) for part in paragraphs
    )


def _name(phase: Phase) -> str:
    return phase.value or "New"


GROUPS: Mapping[str, tuple[Phase, ...]] = {
    "Created=False, waiting for a change or tried again": (
        Phase.BUILD_FAILED,
        Phase.CREATION_FAILED,
    ),
    "nothing has failed": (Phase.CREATED, Phase.RUNNING, Phase.SUSPENDED),
}
"""What the picture draws as one: phases between which a job may go to and fro."""


def _diagram() -> Iterator[str]:
    """Draw the groups, not each of the two score arrows between their phases.

    Raises:
        ValueError: the table of followers has another shape, and the picture would lie.
    """
    members = {phase for group in GROUPS.values() for phase in group}
    drawn = {phase for phase in Phase if FOLLOWERS[phase] | {phase, Phase.NEW} == set(Phase)}
    if drawn != members | {Phase.NEW} or members & FINAL:
        message = "the picture of a TrainJob's phases is not what their table says"
        raise ValueError(message)
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {_name(Phase.NEW)}"
    yield '    state "any of these may follow any other, as the facts change" as Unfinished {'
    for number, (words, group) in enumerate(GROUPS.items(), start=1):
        yield f'        state "{words}" as Group{number} {{'
        for phase in group:
            yield f"            {_name(phase)} : {_name(phase)} ({ENTERED[phase]})"
        yield "        }"
    yield "    }"
    yield f"    {_name(Phase.NEW)} --> Unfinished: the first look"
    for phase in sorted(FINAL):
        yield f"    Unfinished --> {_name(phase)}: {ENTERED[phase]}"
        yield f"    {_name(phase)} --> [*]"
    yield "```"
    yield ""
    yield "Which may follow which is in the table of phases below. A job that is resumed before"
    yield "anything was applied is New again; a job may also end at the first look."


def _conditions() -> Iterator[str]:
    yield "## Conditions\n"
    yield "| condition | reason | message |"
    yield "|---|---|---|"
    for (condition, reason), message in REASONS.items():
        yield f"| {condition} | {reason} | {message} |"


def _table() -> Iterator[str]:
    yield "## Phases\n"
    yield "The first that holds, from below upwards: an end, a failed build or creation, a"
    yield "suspension, a Job at work, all objects applied.\n"
    yield "| phase | entered when | may be followed by |"
    yield "|---|---|---|"
    for phase, followers in FOLLOWERS.items():
        named = ", ".join(_name(item) for item in sorted(followers, key=list(Phase).index))
        entered = ENTERED.get(phase, "nothing was built yet")
        yield f"| {_name(phase)} | {entered} | {named or 'nothing: final'} |"


def _framework() -> Iterator[str]:
    yield "## How the objects are built\n"
    yield _theory(framework.__doc__)
    yield ""
    named = ", ".join(f"`{plugin.name}`" for plugin in all_plugins())
    yield f"The plugins that are always there, in their order: {named}."
