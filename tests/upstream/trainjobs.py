"""What Trainer and we make of one TrainJob, in one form, and where the two differ."""

import base64
import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jobledger.adapters.kinds.trainjob.acting.keys.curve_keys import CERTIFICATE as CURVE
from jobledger.adapters.kinds.trainjob.acting.keys.curve_keys import curve_certificate
from jobledger.adapters.kinds.trainjob.plugins import trainjob_plugins
from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import BuildFailed, BuiltObject, Plugin
from jobledger.core.trainjob.building.processes import AUTO
from jobledger.core.trainjob.building.runtime_validation import UNCHECKED, UNCHECKED_LABEL
from jobledger.core.trainjob.names import snapshot_name
from jobledger.core.trainjob.plugins.trainer_status import AUTHORITY
from jobledger.core.values.documents import child, items, text
from jobledger.core.values.quantities import amounts
from tests.upstream.comparing import differences, plain
from tests.upstream.flux_scripts import with_what_scripts_say
from tests.upstream.trainjob_cases import Case

Answer = Mapping[str, Any]

STATUS_URL = "https://kubeflow-trainer-controller-manager.kubeflow-system.svc:10443"
"""Where Trainer serves its status server, as it comes."""

CERTIFICATE = "the authority of the status server"
_SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"namespace": "kubeflow-system", "name": "kubeflow-trainer-webhook-cert"},
    "data": {AUTHORITY: base64.b64encode(CERTIFICATE.encode()).decode()},
}
"""Where Trainer takes the authority from."""
_WHOLE = re.compile(r"(?<![\w.])-?[0-9]{1,64}(?![\w.])")


@dataclass(frozen=True, slots=True)
class Built:
    """The objects of a job, or why there are none."""

    refused: str = ""
    objects: Mapping[str, Any] = field(default_factory=dict)
    """`Kind/name` -> the object, in the form in which it is compared."""


def question(case: Case) -> dict[str, Any]:
    """Return a case as the oracle reads it."""
    asked: dict[str, Any] = {"id": case.id, "trainJob": case.job, "objects": [case.runtime]}
    if case.status_server:
        asked |= {"objects": [case.runtime, _SECRET], "statusServer": True}
    return asked


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
        built = build(_plugins(STATUS_URL if case.status_server else ""), case.job, case.runtime)
    except BuildFailed as error:
        return Built(str(error))
    return Built(objects=_by_name([_as_applied(item) for item in built]))


def _as_applied(item: BuiltObject) -> dict[str, Any]:
    """Return an object with what is filled in when it is applied, unless that is made by chance."""
    told: dict[str, dict[str, str]] = {"authority": {AUTHORITY: CERTIFICATE}}
    if item.keys == "curve":
        (owner,) = items(item.manifest, "metadata", "ownerReferences")
        key = curve_certificate(text(owner, "name"), text(owner, "uid"))
        told["curve"] = {CURVE: base64.b64encode(key.encode()).decode()}
    return {**item.manifest, **({"data": told[item.keys]} if item.keys in told else {})}


@cache
def _plugins(status_url: str) -> Sequence[Plugin]:
    return trainjob_plugins(status_url)


def _by_name(objects: Sequence[Any]) -> dict[str, Any]:
    found = {}
    for item in copy.deepcopy(list(objects)):
        if item["kind"] == "Secret" and CURVE not in item.get("data", ()):
            item.pop("data", None)  # keys of MPI are made anew each time
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


def _differs_in_scripts(case: Case, answer: Answer) -> bool:
    """Return whether a case differs by the words of Flux's scripts, and not by what they say."""
    one, other = theirs(case, answer), ours(case)
    if not _policy(case, "flux") or bool(one.refused) != bool(other.refused):
        return False
    read = [with_what_scripts_say(built.objects) for built in (one, other)]
    if case.status_server:
        read = [_sorted(objects) for objects in read]
    return not any(differences(read[0], read[1]))


def _differs_in_order(case: Case, answer: Answer) -> bool:
    """Return whether a case differs by the order in which plugins add to a Pod, and in no value."""
    if not (_policy(case, "xgboost") or case.status_server):
        return False
    one, other = theirs(case, answer), ours(case)
    if bool(one.refused) != bool(other.refused):
        return False
    return not any(differences(_sorted(one.objects), _sorted(other.objects)))


ADDED = ("env", "volumeMounts", "volumes")
"""Lists of a Pod that several plugins add to."""


def _sorted(value: Any) -> Any:  # noqa: ANN401 any JSON
    if isinstance(value, Mapping):
        return {
            key: sorted(item, key=lambda one: (str(one.get("name")), str(one.get("mountPath"))))
            if key in ADDED
            else _sorted(item)
            for key, item in value.items()
        }
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _differs_in_ports(case: Case, answer: Answer) -> bool:
    """Return whether a case differs in ports alone, where a container has some without a name."""
    return _loses_ports(case) and _same_but_for(case, answer, _without_ports)


def _loses_ports(case: Case) -> bool:
    """Return whether a container has several ports, and not all with a name."""
    jobs = items(case.runtime, "spec", "template", "spec", "replicatedJobs")
    containers = [
        one
        for job in jobs
        for kind in ("containers", "initContainers")
        for one in items(job, "template", "spec", "template", "spec", kind)
    ]
    unnamed = [
        len(items(one, "ports")) > 1 and not all(text(port, "name") for port in items(one, "ports"))
        for one in containers
    ]
    return any(unnamed)


def _same_but_for(case: Case, answer: Answer, without: Callable[[Any], Any]) -> bool:
    """Return whether a case does not differ once a function has taken away what a line lists.

    What the lines on scripts, ports and order take away goes as well.
    """
    one, other = theirs(case, answer), ours(case)
    if bool(one.refused) != bool(other.refused):
        return False
    read: list[Any] = [one.objects, other.objects]
    if _policy(case, "flux"):
        read = [with_what_scripts_say(objects) for objects in read]
    if _loses_ports(case):
        read = [_without_ports(objects) for objects in read]
    read = [without(objects) for objects in read]
    if _policy(case, "xgboost") or case.status_server:
        read = [_sorted(objects) for objects in read]
    return not any(differences(read[0], read[1]))


def _without_ports(value: Any) -> Any:  # noqa: ANN401 any JSON
    if isinstance(value, Mapping):
        return {key: _without_ports(item) for key, item in value.items() if key != "ports"}
    return [_without_ports(item) for item in value] if isinstance(value, list) else value


def _differs_in_great_counts(case: Case, answer: Answer) -> bool:
    """Return whether a case differs in the upper halves of numbers beyond 2^31 alone.

    Where amounts are below 0, or beyond 2^63, it may differ in any number.
    """
    if _same_but_for(case, answer, _wrapped):
        return True
    asked = [child(case.job, "spec", "trainer", "resourcesPerNode", kind) for kind in KINDS]
    known = [found.amount for amount in asked for found in amounts(amount).values()]
    beyond = any(amount < 0 or amount >= AMOUNT_MAX for amount in known)
    return beyond and _same_but_for(case, answer, _without_counts)


KINDS = ("requests", "limits")
AMOUNT_MAX = 2**63 - 1
"""Upstream counts in 64 bits."""


def _without_counts(value: Any) -> Any:  # noqa: ANN401 any JSON
    """Return a value without the whole numbers in its texts; `auto` is as good as one."""
    if isinstance(value, Mapping):
        return {key: _without_counts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_counts(item) for item in value]
    return "" if value == AUTO else _WHOLE.sub("", value) if isinstance(value, str) else value


def _wrapped(value: Any) -> Any:  # noqa: ANN401 any JSON
    """Return a value with the whole numbers in its texts as 32 bits hold them."""
    if isinstance(value, Mapping):
        return {key: _wrapped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return _WHOLE.sub(_in_32_bits, value) if isinstance(value, str) else value


def _in_32_bits(found: re.Match[str]) -> str:
    return str(int(found[0]) % 2**32)


def _differs_in_counts_refused(case: Case, answer: Answer) -> bool:
    """Return whether a case is refused here for counts that Trainer only forbids later."""
    trainer = case.job["spec"].get("trainer") or {}
    nodes, processes = trainer.get("numNodes"), trainer.get("numProcPerNode")
    is_less = (nodes is not None and nodes < 0) or (processes is not None and processes < 1)
    return is_less and not theirs(case, answer).refused and bool(ours(case).refused)


KNOWN: Mapping[str, Callable[[Case, Answer], bool]] = {
    "trainjob-flux-scripts": _differs_in_scripts,
    "trainjob-plugin-order": _differs_in_order,
    "trainjob-ports-without-name": _differs_in_ports,
    "trainjob-great-counts": _differs_in_great_counts,
    "trainjob-counts-of-none": _differs_in_counts_refused,
}
"""A line of docs/differences.md -> whether a case differs because of it."""


def explained(case: Case, answer: Answer) -> str:
    """Return the line of the page that a difference is known by; empty if there is none."""
    return next((name for name, applies in KNOWN.items() if applies(case, answer)), "")
