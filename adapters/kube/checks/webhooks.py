"""Checks that the admission webhooks for our kinds of objects have a server."""

from collections.abc import Iterator

from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.endpoints import is_answered
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.forensics.findings import Check, Finding, error, note, warning
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import WEBHOOK_CONFIGURATIONS, Resource
from jobledger.core.values.documents import Json, Manifest, child, items, text

_ANY = "*"


def webhooks(view: ClusterView) -> Iterator[Finding]:
    """Yield webhooks of our kinds behind whose Service is nobody.

    With `failurePolicy: Fail`, as those of a Trainer that was switched off, nobody can create or
    change such an object.
    """
    for resource in WEBHOOK_CONFIGURATIONS:
        try:
            configurations = view.cluster.list(resource).items
        except ObjectNotFound:
            continue  # an API server without webhooks, as the sandbox
        except RequestForbidden:
            what = f"{resource.plural} may not be read: whether somebody answers is unknown"
            yield note("webhooks", what, "nothing has to be done; an administrator sees more")
            continue
        for found in configurations:
            for hook in items(found, "webhooks"):
                yield from _unanswered(view, resource, found, child(hook))


def _unanswered(
    view: ClusterView, resource: Resource, found: Manifest, hook: Manifest
) -> Iterator[Finding]:
    passing = [one.plural for one in _of_kinds(view) if any(_rules(hook, one))]
    service = child(hook, "clientConfig", "service")
    namespace, name = text(service, "namespace"), text(service, "name")
    if not passing or not name:
        return  # none of ours, or called at an address that can only be tried
    try:
        if is_answered(view.cluster, namespace, name):
            return
    except RequestForbidden:
        what = f"the endpoints of Service {namespace}/{name} may not be read: whether somebody "
        what += f"answers for webhook {text(hook, 'name')} is unknown"
        yield note("webhooks", what, "nothing has to be done; an administrator sees more")
        return
    configuration = text(found, "metadata", "name")
    what = f"nobody answers for webhook {text(hook, 'name')} ({resource.kind} {configuration}): "
    what += f"Service {namespace}/{name} has no ready endpoint"
    delete = f"kubectl delete {resource.kind.lower()} {configuration}"
    remedy = f"start what serves it, or, if that was switched off for good, `{delete}`"
    if text(hook, "failurePolicy") == "Ignore":
        yield warning("webhooks", f"{what}; it is passed over", remedy)
    else:
        what += f", and it is failurePolicy Fail: nobody can create or change {', '.join(passing)}"
        yield error("webhooks", what, remedy)


def _of_kinds(view: ClusterView) -> Iterator[Resource]:
    for kind in view.wants.kinds:
        yield from KINDS[kind].api.admitted


def _rules(hook: Manifest, resource: Resource) -> Iterator[Json]:
    """Yield the rules of a webhook that a resource falls under."""
    for rule in items(hook, "rules"):
        groups, plurals = items(rule, "apiGroups"), items(rule, "resources")
        known = {_ANY, "*/*", resource.plural, f"{resource.plural}/*"}
        if (resource.group in groups or _ANY in groups) and not known.isdisjoint(map(str, plurals)):
            yield rule


CHECKS: tuple[Check[ClusterView], ...] = (
    Check(
        name="webhooks",
        asks="Does somebody answer for every admission webhook of the kinds?",
        run=webhooks,
    ),
)
