"""Which rights the controller needs: those of `ops/rbac.yaml`, as far as the settings need them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from core.forensics.findings import Severity
from core.values.documents import Json, child, items, text

READING = frozenset({"get", "list", "watch"})

TRAINING = frozenset({"trainer.kubeflow.org", "jobset.x-k8s.io", "scheduling.x-k8s.io"})
EVIDENCE = frozenset({("", "pods/log", "get"), ("", "events", "list")})
SHOWING = frozenset({("", "events", "create"), ("events.k8s.io", "events", "create")})
REVIEWS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One verb on one kind of object."""

    group: str
    resource: str
    """Plural, with its subresource after a slash."""
    verb: str

    @property
    def words(self) -> str:
        """Return it as `kubectl auth can-i` takes it."""
        name, _, below = self.resource.partition("/")
        kind = f"{name}.{self.group}" if self.group else name
        return f"{self.verb} {kind}{f' --subresource={below}' if below else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """What the settings call for."""

    kinds: Collection[str] = ("RayJob", "TrainJob")
    only_records: bool = False
    """Recorder mode: nothing is written."""
    reviews_tokens: bool = False
    volcano: bool = False


def rights() -> Iterator[Right]:
    """Yield every right that `ops/rbac.yaml` grants, from an installed wheel or a checkout."""
    documents = yaml.safe_load_all(_file().read_text(encoding="utf-8"))
    for document in documents:
        if text(document, "kind") == "ClusterRole":
            for rule in items(document, "rules"):
                yield from _of_rule(rule)


def _of_rule(rule: Json) -> Iterator[Right]:
    told = child(rule)
    for group in items(told, "apiGroups"):
        for resource in items(told, "resources"):
            for verb in items(told, "verbs"):
                yield Right(group=str(group), resource=str(resource), verb=str(verb))


def how_bad(right: Right, wants: Wants) -> Severity | None:
    """Return how bad it is that a right is missing; None if it is not needed."""
    if wants.only_records and right.verb not in READING:
        return None
    if right.group in REVIEWS and not wants.reviews_tokens:
        return None
    if right.group == "scheduling.volcano.sh" and not wants.volcano:
        return None
    if right.group in TRAINING and "TrainJob" not in wants.kinds:
        return None
    if (right.group, right.resource, right.verb) in EVIDENCE | SHOWING:
        return Severity.WARNING
    return Severity.ERROR


def _file() -> Path:
    beside = Path(__file__).with_name("rbac.yaml")
    return beside if beside.is_file() else Path(__file__).resolve().parents[3] / "ops" / "rbac.yaml"
