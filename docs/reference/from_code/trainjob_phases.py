"""The page of a TrainJob's conditions and phases: diagrams made from the tables."""  # noqa: INP001 see generate.py

import inspect
from collections.abc import Iterator

from core.trainjob import framework, phases
from core.trainjob.phases import ENTERED, FINAL, FOLLOWERS, REASONS, Phase
from core.trainjob.plugins import all_plugins

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


def _diagram() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield f"    [*] --> {_name(Phase.NEW)}"
    for phase, followers in FOLLOWERS.items():
        for follower in sorted(followers, key=list(Phase).index):
            words = ENTERED.get(follower, "spec.suspend is false again")
            yield f"    {_name(phase)} --> {_name(follower)}: {words}"
    for phase in sorted(FINAL):
        yield f"    {_name(phase)} --> [*]"
    yield "```"


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
