"""Which objects a label selector and a field selector choose.

Source: k8s.io/apimachinery pkg/labels and pkg/fields (v0.36); the selectable fields of each
built-in kind are those of its strategy in k8s.io/kubernetes.
"""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from jobledger.sandbox.model.documents import Document, at
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.refusals import bad_request

Test: TypeAlias = Callable[[Document], bool]

_KEY: Final = r"[A-Za-z0-9][-A-Za-z0-9_./]*"
_WORD: Final = r"[-A-Za-z0-9_.]*"
_REQUIREMENT: Final = re.compile(
    rf"\s*(?:(?P<not>!)\s*(?P<absent>{_KEY})"
    rf"|(?P<set>{_KEY})\s+(?P<in>in|notin)\s*\(\s*(?P<values>[^()]*?)\s*\)"
    rf"|(?P<key>{_KEY})\s*(?P<op>==|=|!=)\s*(?P<value>{_WORD})"
    rf"|(?P<present>{_KEY}))\s*(?:,|$)"
)

_EVENT_FIELDS: Final = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)

_FIELDS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "events"): _EVENT_FIELDS,
    ("events.k8s.io", "events"): _EVENT_FIELDS,
    ("batch", "jobs"): ("status.successful",),
    ("", "namespaces"): ("status.phase", "name"),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "secrets"): ("type",),
    ("", "services"): ("spec.clusterIP", "spec.type"),
}
"""What can be selected besides name and namespace; everything else is refused."""


def label_test(selector: str) -> Test | None:
    """Return whether an object's labels match, or None for a selector that chooses everything.

    Raises:
        Refusal: 400, the selector cannot be read.
    """
    tests = []
    place = 0
    while place < len(selector.rstrip()):
        found = _REQUIREMENT.match(selector, place)
        if not found:
            why = f"unable to parse requirement: found '{selector[place:]}'"
            raise bad_request(why)
        tests.append(_requirement(found))
        place = found.end()
    if not tests:
        return None
    return lambda document: all(test(document["metadata"].get("labels") or {}) for test in tests)


def _requirement(found: re.Match[str]) -> Test:
    """Return the test of a label set that one requirement means."""
    parts = found.groupdict()
    if parts["absent"]:
        return lambda labels: parts["absent"] not in labels
    if parts["present"]:
        return lambda labels: parts["present"] in labels
    if parts["set"]:
        values = {value.strip() for value in parts["values"].split(",")}
        if parts["in"] == "in":
            return lambda labels: labels.get(parts["set"]) in values
        return lambda labels: labels.get(parts["set"]) not in values
    if parts["op"] == "!=":
        return lambda labels: labels.get(parts["key"]) != parts["value"]
    return lambda labels: labels.get(parts["key"]) == parts["value"]


def field_test(kind: Kind, selector: str) -> Test | None:
    """Return whether an object's fields match, or None for a selector that chooses everything.

    Raises:
        Refusal: 400, the selector cannot be read or names a field that is not selectable.
    """
    tests = []
    for term in filter(None, (term.strip() for term in selector.split(","))):
        key, operator, value = _field_term(term)
        if key not in ("metadata.name", "metadata.namespace", *_FIELDS.get(kind.storage, ())):
            what = f"{kind.api_version}, Resource={kind.plural}".removeprefix("/")
            why = (
                f'Unable to find "{what}" that match label selector "", field selector '
                f'"{selector}": field label not supported: {key}'
            )
            raise bad_request(why)
        tests.append(_field_is(key, value, wanted=operator != "!="))
    return (lambda document: all(test(document) for test in tests)) if tests else None


def _field_term(term: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        key, found, value = term.partition(operator)
        if found:
            return key.strip(), operator, value.strip()
    raise bad_request(f"invalid selector: '{term}'; can't understand '{term}'")


def _field_is(key: str, value: str, *, wanted: bool) -> Test:
    path = tuple(key.split("."))
    path = ("source", "component") if path == ("source",) else path
    path = ("metadata", "name") if path == ("name",) else path

    def test(document: Document) -> bool:
        found = at(document, *path)
        if key == "status.successful":
            found = at(document, "status", "succeeded") or 0
        text = "" if found is None else str(found).lower() if found in (True, False) else str(found)
        return (text == value) == wanted

    return test


def selection(kind: Kind, labels: str, fields: str) -> Test | None:
    """Return the test both selectors mean together, or None if every object is meant."""
    by_label, by_field = label_test(labels), field_test(kind, fields)
    if by_label is None or by_field is None:
        return by_label or by_field
    return lambda document: by_label(document) and by_field(document)
