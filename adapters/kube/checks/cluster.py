"""Checks that the API server serves, allows and keeps what the controller needs."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from jobledger.adapters.kube.api_clock import api_server_now
from jobledger.adapters.kube.checks.leaks import each_in
from jobledger.adapters.kube.checks.rights import CLAIMS, Right, Wants, rights_for
from jobledger.adapters.kube.transport import Transport
from jobledger.core.claims.leases import SELECTOR, claim_of, is_recent
from jobledger.core.claims.rule import kinship, overlap
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.forensics.findings import Check, Finding, error, note, warning
from jobledger.core.jobs.control.control_policy import WHAT_TO_DO, Refusal
from jobledger.core.kinds import KINDS, AnyKind
from jobledger.core.ports.cluster import CRDS, LEASES, Cluster, Resource
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.instants import Instant

CLOCK_SECONDS_MAX = 5
"""The header tells whole seconds, and the answer takes its time."""

_ASK_THE_LEDGER = (
    "run this without --only cluster: whoever may change a job may have written that, and only the "
    "ledger tells whether the status is one of this controller"
)

_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """One cluster, and what the settings want of it."""

    transport: Transport
    cluster: Cluster
    now: Callable[[], Instant]
    wants: Wants = field(default_factory=Wants)
    refusal: Callable[[str, Manifest, Instant], Refusal | None] = lambda *_: None
    """Tells why a job would forbid the service to start, as the service itself judges."""
    knows_own: bool = True
    """Whether it knows which statuses were written here: the ledger says so."""
    namespaces: Collection[str] = ()
    """Namespaces whose jobs are looked at; empty: all."""
    claim_namespace: str = "jobledger"
    """Where runs of the service keep their claims."""


def permissions(view: ClusterView) -> Iterator[Finding]:
    """Yield every right of ops/rbac.yaml (a recorder's file) that is missing and needed."""
    for right, severity in rights_for(view.wants):
        where = (view.claim_namespace,) if right.part == CLAIMS else tuple(view.namespaces) or ("",)
        if _may(view, where, right):
            continue
        what = f"may not {right.words}"
        yield Finding(check="permissions", severity=severity, what=what, remedy=right.remedy)


def _may(view: ClusterView, namespaces: Collection[str], right: Right) -> bool:
    for namespace in namespaces:
        about = right.attributes(namespace)
        question: Manifest = {"metadata": {}, "spec": {"resourceAttributes": about}}
        answer = child(view.cluster.create(_REVIEWS, question), "status")
        if answer.get("allowed") is not True:
            return False
    return True


def api_clock(view: ClusterView) -> Iterator[Finding]:
    """Yield a difference between this clock and the API server's."""
    before = view.now()
    theirs = api_server_now(view.transport)
    after = view.now()
    if theirs is None:
        return
    off = max((before - theirs).total_seconds() - 1, (theirs - after).total_seconds())
    if off > CLOCK_SECONDS_MAX:
        what = f"this clock and the API server's are {off:.0f} s apart"
        remedy = "synchronise both (NTP): deadlines are judged by instants of both"
        yield warning("api-clock", what, remedy)


def definitions(view: ClusterView) -> Iterator[Finding]:
    """Yield kinds that are not served, and fields that their definitions prune."""
    for kind in KINDS.values():
        if kind.name in view.wants.kinds:
            for resource in kind.api.served:
                yield from _definition(view, kind, resource)


def _definition(view: ClusterView, kind: AnyKind, resource: Resource) -> Iterator[Finding]:
    try:
        view.cluster.list(resource, "jobledger-doctor")
    except ObjectNotFound:
        what = f"{resource.plural}.{resource.group}/{resource.version} is not served"
        remedy = "install its definition (ops/crds), or leave "
        remedy += f"{kind.name} out of JOBLEDGER_JOB_KINDS"
        yield (error if _is_missed(view, kind, resource) else warning)("definitions", what, remedy)
        return
    except RequestForbidden:
        return  # the permissions say so already
    kept = kind.api.kept.get(resource, ())
    if not kept:
        return
    try:
        found = view.cluster.get(CRDS, "", f"{resource.plural}.{resource.group}")
    except RequestForbidden:
        what = f"the definition of {resource.plural} may not be read: what it prunes is unknown"
        yield note("definitions", what, "nothing has to be done; an administrator sees more")
        return
    pruned = list(_pruned(found or {}, resource.version, kept))
    if pruned:
        what = f"the definition of {resource.plural} prunes {', '.join(pruned)}"
        remedy = (
            "install a newer one (ops/crds): users do not see these fields, nothing else is lost"
        )
        yield warning("definitions", what, remedy)


def _is_missed(view: ClusterView, kind: AnyKind, resource: Resource) -> bool:
    """Return whether nothing can be controlled without it, or jobs that may be there cannot."""
    others = [other for other in view.wants.kinds if other != kind.name]
    if not any(_is_served(view, KINDS[other].resource) for other in others):
        return True
    return resource in kind.api.indispensable and _is_served(view, kind.resource)


def _is_served(view: ClusterView, resource: Resource) -> bool:
    try:
        view.cluster.list(resource, "jobledger-doctor")
    except ObjectNotFound:
        return False
    except RequestForbidden:
        return True  # as far as anybody knows
    return True


def _pruned(definition: Manifest, served: str, kept: Collection[tuple[str, str]]) -> Iterator[str]:
    for version in items(definition, "spec", "versions"):
        if text(version, "name") != served:
            continue
        schema = child(version, "schema", "openAPIV3Schema")
        for part, name in kept:
            below = child(schema, "properties", part)
            keeps_all = below.get("x-kubernetes-preserve-unknown-fields") is True
            if not keeps_all and name not in child(below, "properties"):
                yield f"{part}.{name}"


def other_controllers(view: ClusterView) -> Iterator[Finding]:
    """Yield jobs whose status another controller writes: their namespace is only recorded."""
    met: set[tuple[str, str]] = set()
    for kind in view.wants.kinds:
        for job in each_in(view.cluster, view.namespaces, KINDS[kind].resource):
            refusal = view.refusal(kind, job, view.now())
            if refusal is not None and (kind, refusal.namespace) not in met:
                met.add((kind, refusal.namespace))
                if view.knows_own:
                    yield error("other-controllers", refusal.words, WHAT_TO_DO)
                else:
                    yield note("other-controllers", refusal.words, _ASK_THE_LEDGER)


def other_ledgers(view: ClusterView) -> Iterator[Finding]:
    """Yield ledgers whose services would control the same jobs, as their claims say."""
    try:
        found = view.cluster.list(LEASES, view.claim_namespace, SELECTOR).items
    except (ObjectNotFound, RequestForbidden):
        return  # the permissions say so already
    claims = [claim_of(one) for one in found if is_recent(one, view.now())]
    told: set[str] = set()
    for one in sorted(claims, key=lambda claim: (claim.since, claim.name)):
        others = [
            other
            for other in claims
            if other.database != one.database and other.name not in told and overlap(one, other)
        ]
        told.add(one.name)
        for other in others:
            what = (
                f"{one.owner} ({one.standing.value} since {one.since}) and {other.owner} "
                f"({other.standing.value} since {other.since}) would control the same jobs; "
                f"that of {other.owner} is {kinship(one, other, f'that of {one.owner}')}"
            )
            yield error("other-ledgers", what, "stop all but one; one acts, the others wait")


CHECKS: tuple[Check[ClusterView], ...] = (
    Check(
        name="permissions",
        asks="May this user do everything that ops/rbac.yaml grants and the settings need?",
        run=permissions,
    ),
    Check(name="api-clock", asks="Do this clock and the API server's agree?", run=api_clock),
    Check(
        name="definitions",
        asks="Are the kinds served, and are no fields pruned that are written?",
        run=definitions,
    ),
    Check(
        name="other-controllers",
        asks="Does no other controller write the status of jobs that are controlled here?",
        run=other_controllers,
    ),
    Check(
        name="other-ledgers",
        asks="Does one ledger alone control the jobs of this cluster?",
        run=other_ledgers,
    ),
)
