"""Keeps the webhooks' certificate in a Secret of all replicas, and publishes its authority.

Whoever finds it missing or near its end makes a new one; of two that do so at once one wins, and
the other takes that. Then the authority is written into the webhook configurations.
"""

import base64
import binascii
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from jobledger.adapters.admission.certificates import (
    VALID,
    Certificate,
    belong_together,
    is_due,
    new_certificate,
)
from jobledger.core.errors import ClusterError, JobledgerError, ObjectChanged, ObjectExists
from jobledger.core.ports.cluster import CONFIGMAPS, SECRETS, WEBHOOK_CONFIGURATIONS, Cluster
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import Instant

SECRET_TYPE = "kubernetes.io/tls"  # noqa: S105 a name of Kubernetes
OURS = {"jobledger.dev/part": "webhooks"}
"""The label of what may be written."""
CHAIN, KEY, TRUSTED = "tls.crt", "tls.key", "ca.crt"


class ForeignSecret(JobledgerError):
    """A Secret has the name of ours, and somebody else has made it."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.name = namespace, name
        super().__init__(
            f"Secret {namespace}/{name} was not made by jobledger: mount it and name it with "
            "--cert-dir, or delete it, or name another Service with --service"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCertificate:
    """The Secret with the certificate of a Service."""

    cluster: Cluster
    now: Callable[[], Instant]
    namespace: str
    service: str
    other_names: tuple[str, ...] = ()
    """Further DNS names, for an API server that calls by another."""
    configuration: str = "jobledger"
    """Name of the webhook configurations that are told whom to trust."""
    authority: str = ""
    """Name of a ConfigMap in the namespace that is told instead of them; empty: none."""
    valid: timedelta = VALID
    """For how long a certificate is made."""

    @property
    def names(self) -> Sequence[str]:
        """Return the DNS names that the API server calls the Service by."""
        name = f"{self.service}.{self.namespace}.svc"
        return (name, f"{name}.cluster.local", *self.other_names)

    def called_by(self) -> Sequence[str]:
        """Return the hosts that callers expect the certificate to be for.

        Those in the webhook configurations; where these say none, or may not be read, what we were
        told, or else our Service's.
        """
        configured = () if self.authority else tuple(dict.fromkeys(self._configured()))
        return configured or self.other_names or (self.names[0],)

    def _configured(self) -> Iterator[str]:
        for resource in WEBHOOK_CONFIGURATIONS:
            try:
                found = self.cluster.get(resource, "", self.configuration) or {}
            except ClusterError:  # nobody has to say it, or it is said at the next look
                continue
            for hook in items(found, "webhooks"):
                client = child(hook, "clientConfig")
                name, namespace = (text(client, "service", of) for of in ("name", "namespace"))
                with suppress(ValueError):
                    host = urlsplit(text(client, "url")).hostname
                    yield from [f"{name}.{namespace}.svc"] if name else [host] if host else []

    @property
    def secret_name(self) -> str:
        """Return the name of the Secret."""
        return f"{self.service}-tls"

    def read(self) -> Certificate:
        """Return the certificate to serve with, made anew if it has to be; trust is published.

        Raises:
            ClusterError: the API server does not answer, or refuses.
            ForeignSecret: the Secret of that name is somebody else's.
        """
        certificate = self._current()
        self.publish(certificate.trusted)
        return certificate

    def publish(self, trusted: str) -> None:
        """Tell those who call whom to trust (PEM)."""
        if self.authority:
            self._publish_in_configmap(trusted)
        else:
            self._publish(trusted)

    def _publish_in_configmap(self, trusted: str) -> None:
        found = self.cluster.get(CONFIGMAPS, self.namespace, self.authority)
        if text(found, "data", TRUSTED) == trusted:
            return
        metadata: Manifest = {"name": self.authority, "namespace": self.namespace, "labels": OURS}
        wanted: Manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": child(found, "metadata") if found is not None else metadata,
            "data": {TRUSTED: trusted},
        }
        with suppress(ObjectChanged, ObjectExists):  # another replica was first
            if found is None:
                self.cluster.create(CONFIGMAPS, wanted)
            else:
                self.cluster.replace(CONFIGMAPS, wanted)

    def _current(self) -> Certificate:
        found = self.cluster.get(SECRETS, self.namespace, self.secret_name)
        if found is not None and not _is_ours(found):
            raise ForeignSecret(self.namespace, self.secret_name)
        kept = _certificate(found)
        if (
            kept is not None
            and belong_together(kept.chain, kept.key)
            and not is_due(kept.chain, self.names, self.now())
        ):
            return kept
        made = new_certificate(self.names, self.now(), kept.trusted if kept else "", self.valid)
        try:
            self._keep(made, found)
        except (ObjectChanged, ObjectExists):  # another replica was first
            return self._current()
        return made

    def _keep(self, made: Certificate, found: Manifest | None) -> None:
        data = {CHAIN: made.chain, KEY: made.key, TRUSTED: made.trusted}
        metadata: Manifest = {
            "name": self.secret_name,
            "namespace": self.namespace,
            "labels": OURS,
        }
        secret: Manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": SECRET_TYPE,
            "metadata": child(found, "metadata") if found is not None else metadata,
            "data": {key: base64.b64encode(pem.encode()).decode() for key, pem in data.items()},
        }
        if found is None:
            self.cluster.create(SECRETS, secret)
        else:
            self.cluster.replace(SECRETS, secret)

    def _publish(self, trusted: str) -> None:
        bundle = base64.b64encode(trusted.encode()).decode()
        for resource in WEBHOOK_CONFIGURATIONS:
            found = self.cluster.get(resource, "", self.configuration)
            if found is None or not _is_ours(found):
                continue
            hooks = [_trusting(hook, bundle) for hook in items(found, "webhooks")]
            if hooks != list(items(found, "webhooks")):
                try:
                    self.cluster.replace(resource, {**found, "webhooks": hooks})
                except ObjectChanged:
                    continue  # another replica, or the operator: looked at again soon


def _is_ours(found: Manifest) -> bool:
    labels = child(found, "metadata", "labels")
    return all(text(labels, key) == value for key, value in OURS.items())


def _trusting(hook: Json, bundle: str) -> Manifest:
    settled = child(hook)
    return {**settled, "clientConfig": {**child(settled, "clientConfig"), "caBundle": bundle}}


def _certificate(secret: Manifest | None) -> Certificate | None:
    """Return what a Secret holds; None if it is not there, or holds no certificate."""
    data = child(secret or {}, "data")
    try:
        parts = [base64.b64decode(text(data, key), validate=True).decode() for key in _PARTS]
    except (binascii.Error, UnicodeDecodeError):
        return None
    return Certificate(*parts) if all(parts) else None


_PARTS = (CHAIN, KEY, TRUSTED)
