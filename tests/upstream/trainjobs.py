"""What Trainer and we make of one TrainJob, in one form, and where the two differ."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jobledger.adapters.service.effects.plugins import trainjob_plugins
from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import BuildFailed, Plugin
from jobledger.core.trainjob.building.runtime_validation import UNCHECKED, UNCHECKED_LABEL
from jobledger.core.trainjob.names import snapshot_name
from tests.upstream.comparing import differences, plain
from tests.upstream.trainjob_cases import Case

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Built:
    """The objects of a job, or why there are none."""

    refused: str = ""
    objects: Mapping[str, Any] = field(default_factory=dict)
    """`Kind/name` -> the object, in the form in which it is compared."""


def question(case: Case) -> dict[str, Any]:
    """Return a case as the oracle reads it."""
    return {"id": case.id, "trainJob": case.job, "objects": [case.runtime]}


def theirs(case: Case, answer: Answer) -> Built:
    """Return what Trainer made of a case.

    What its webhooks refuse counts as refused: they stand before its controller.
    """
    invalid = answer.get("invalid") or ()
    checked = case.runtime["metadata"].get("labels", {}).get(UNCHECKED_LABEL) != UNCHECKED
    of_runtime = answer.get("runtimeInvalid") if checked else None
    refusals = [*invalid, of_runtime, answer.get("buildFailed")]
    refused = "; ".join(one for one in (*refusals, answer.get("unreadable")) if one)
    if refused:
        return Built(refused)
    snapshot = f"ConfigMap/{snapshot_name(case.job['metadata']['name'])}"
    objects = _by_name(answer.get("objects") or ())
    return Built(objects={name: one for name, one in objects.items() if name != snapshot})


def ours(case: Case) -> Built:
    """Return what we make of a case."""
    try:
        built = build(_plugins(), case.job, case.runtime)
    except BuildFailed as error:
        return Built(str(error))
    return Built(objects=_by_name([dict(item.manifest) for item in built]))


@cache
def _plugins() -> Sequence[Plugin]:
    return trainjob_plugins()


def _by_name(objects: Sequence[Any]) -> dict[str, Any]:
    found = {}
    for item in copy.deepcopy(list(objects)):
        if item["kind"] == "Secret":
            item.pop("data", None)  # keys are made anew each time
        found[f"{item['kind']}/{item['metadata']['name']}"] = plain(item)
    return found


def found(case: Case, answer: Answer) -> list[str]:
    """Return where what we make of a case differs from what Trainer makes of it."""
    one, other = theirs(case, answer), ours(case)
    if bool(one.refused) != bool(other.refused):
        return [f"upstream {one.refused or 'builds it'}, here {other.refused or 'it is built'}"]
    return list(differences(one.objects, other.objects))


def _policy(case: Case, name: str) -> bool:
    return (case.runtime["spec"].get("mlPolicy") or {}).get(name) is not None


def _orders_environments(case: Case, answer: Answer) -> bool:
    """Return whether a case differs in the order of environment variables only."""
    if not _policy(case, "xgboost"):
        return False
    one, other = theirs(case, answer), ours(case)
    return not any(differences(_sorted(one.objects), _sorted(other.objects)))


def _sorted(value: Any) -> Any:  # noqa: ANN401 any JSON
    if isinstance(value, Mapping):
        return {
            key: sorted(item, key=lambda one: str(one.get("name")))
            if key == "env"
            else _sorted(item)
            for key, item in value.items()
        }
    return [_sorted(item) for item in value] if isinstance(value, list) else value


KNOWN: Mapping[str, Callable[[Case, Answer], bool]] = {
    "trainjob-flux": lambda case, _: _policy(case, "flux"),
    "trainjob-plugin-order": _orders_environments,
}
"""A line of docs/differences.md -> whether a case differs because of it."""


def explained(case: Case, answer: Answer) -> str:
    """Return the line of the page that a difference is known by; empty if there is none."""
    return next((name for name, applies in KNOWN.items() if applies(case, answer)), "")
