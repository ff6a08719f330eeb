"""Checks the rights of `ops/rbac.yaml`, as far as the settings need them.

The file comes in parts: a ClusterRole each, with a label that names the part. A recorder has a file
of its own, `ops/rbac-recorder.yaml`, and so has the server of `jobledger trainer-status`.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from jobledger.core.forensics.findings import Severity
from jobledger.core.kinds import KINDS
from jobledger.core.values.documents import Json, Manifest, child, items, text

CONTROLLER, RECORDER = "rbac.yaml", "rbac-recorder.yaml"
TRAINER_STATUS = "trainer-status.yaml"
"""The files in `ops/`, one for each process."""

SHOWING = frozenset({("", "events", "create"), ("events.k8s.io", "events", "create")})

LABEL = "jobledger.dev/part"

CLAIMS = "claims"
"""Part that is needed in the namespace of the claims alone."""

OF_SOME = {part: jobs for kind in KINDS.values() for part, jobs in kind.api.rights_of_some.items()}
"""Part -> whose jobs need it; it is bound in their namespaces, and nobody misses it elsewhere."""

BY_SETTING = frozenset(
    {
        "api-tokens",
        "volcano",
        *(kind.api.rights for kind in KINDS.values() if not kind.is_default),
    }
)
"""Parts that are needed with a setting only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """One verb on one kind of object."""

    file: str = CONTROLLER
    part: str
    """Part of that file that grants it."""
    role: str
    """ClusterRole of that part."""
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

    def attributes(self, namespace: str) -> Manifest:
        """Return it as an access review asks for it; of all namespaces if none is named."""
        name, _, below = self.resource.partition("/")
        asked = {"group": self.group, "resource": name, "verb": self.verb, "namespace": namespace}
        return {**asked, "subresource": below} if below else asked

    @property
    def remedy(self) -> str:
        """Return how it is given to the service account of that file."""
        account = "--serviceaccount=jobledger:jobledger"
        if self.part in OF_SOME:
            return (
                f"only for {OF_SOME[self.part]}, in their namespaces: kubectl create "
                f"rolebinding {self.role} -n NAMESPACE --clusterrole={self.role} {account}"
            )
        if self.part in BY_SETTING:
            return (
                f"kubectl create clusterrolebinding {self.role} --clusterrole={self.role} {account}"
            )
        return (
            f"it is of the part {self.part}: kubectl apply -f ops/{self.file}, and run as its "
            "service account"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wants:
    """What the settings call for."""

    kinds: Collection[str] = tuple(kind.name for kind in KINDS.values() if kind.is_default)
    only_records: bool = False
    """Recorder mode: nothing is written."""
    reviews_tokens: bool = False
    volcano: bool = False
    status_url: str = ""
    """Where Pods of TrainJobs are told to report their progress; empty: they are not."""
    status_authority: tuple[str, str] = ("", "")
    """Namespace and name of the ConfigMap that says by whom the certificate there is signed."""


def rights(file: str = CONTROLLER) -> Iterator[Right]:
    """Yield every right that a file in `ops/` grants, from an installed wheel or a checkout."""
    documents = yaml.safe_load_all(_found(file).read_text(encoding="utf-8"))
    for document in documents:
        if text(document, "kind") == "ClusterRole":
            part = text(child(document, "metadata", "labels"), LABEL)
            name = text(document, "metadata", "name")
            for rule in items(document, "rules"):
                yield from _of_rule(file, part, name, rule)


def _of_rule(file: str, part: str, role: str, rule: Json) -> Iterator[Right]:
    told = child(rule)
    for group in items(told, "apiGroups"):
        for resource in items(told, "resources"):
            for verb in items(told, "verbs"):
                yield Right(
                    file=file,
                    part=part,
                    role=role,
                    group=str(group),
                    resource=str(resource),
                    verb=str(verb),
                )


def rights_for(wants: Wants) -> Iterator[tuple[Right, Severity]]:
    """Yield the rights that the settings call for, and how bad it is that one is missing."""
    for right in rights(RECORDER if wants.only_records else CONTROLLER):
        severity = how_bad(right, wants)
        if severity is not None:
            yield right, severity


def how_bad(right: Right, wants: Wants) -> Severity | None:
    """Return how bad it is that a right is missing; None if it is not needed."""
    needed = {"api-tokens": wants.reviews_tokens, "volcano": wants.volcano}
    for kind in KINDS.values():
        for part in (kind.api.rights, *kind.api.rights_of_some):
            needed[part] = kind.name in wants.kinds
    if not needed.get(right.part, True):
        return None
    if right.part in OF_SOME:
        return Severity.NOTE
    if right.part in {"evidence", CLAIMS} or (right.group, right.resource, right.verb) in SHOWING:
        return Severity.WARNING
    return Severity.ERROR


def _found(file: str) -> Path:
    beside = Path(__file__).with_name(file)
    return beside if beside.is_file() else Path(__file__).resolve().parents[3] / "ops" / file
