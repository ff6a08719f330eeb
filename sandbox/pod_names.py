"""The names by which Pods find each other: what a cluster's DNS would answer, one file per name.

A Pod with `hostname` and `subdomain` is `HOSTNAME.SUBDOMAIN.NAMESPACE.svc.cluster.local` if there
is a headless Service of the subdomain's name that selects it; the Service's own name stands for all
of its Pods. Each file holds one address per line: none for a Service without Pods.
Source: Kubernetes documentation, "DNS for Services and Pods".
"""

import threading
from pathlib import Path

from jobledger.core.values.documents import Manifest, child, text
from jobledger.sandbox.agent.pods.status import is_ready
from jobledger.sandbox.controllers.store import Store, is_being_deleted, key_of, uid_of

DOMAIN = "svc.cluster.local"


class PodNames:
    """Keeps the files up to date; told by the watches, on whatever thread they use."""

    def __init__(self, services: Store, pods: Store, directory: Path) -> None:
        self.directory = directory
        self._services, self._pods = services, pods
        self._addresses: dict[str, dict[str, str]] = {}
        """Name -> UID of a Pod -> its address."""
        self._names: dict[str, frozenset[str]] = {}
        """UID of a Pod -> its names."""
        self._services_shown: set[str] = set()
        """Names of headless Services."""
        self._lock = threading.Lock()

    def start(self) -> None:
        """Make the directory and listen."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._pods.tell(self._pod_told)
        self._services.tell(self._service_told)

    def _pod_told(self, pod: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        uid = uid_of(pod)
        with self._lock:
            known = None if is_gone else self._pods.get(*key_of(pod))  # the newest there is
            is_there = known is not None and uid_of(known) == uid
            names = self._names_of(known) if known is not None and is_there else frozenset()
            address = text(known, "status", "podIP")
            for name in self._names.get(uid, frozenset()) - names:
                self._addresses[name].pop(uid, None)
                self._write(name)
            for name in names:
                addresses = self._addresses.setdefault(name, {})
                if addresses.get(uid) != address:
                    addresses[uid] = address
                    self._write(name)
            if names:
                self._names[uid] = names
            else:
                self._names.pop(uid, None)

    def _service_told(self, service: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        namespace = text(service, "metadata", "namespace")
        name = f"{text(service, 'metadata', 'name')}.{namespace}.{DOMAIN}"
        with self._lock:
            if is_gone or text(service, "spec", "clusterIP") != "None":
                self._services_shown.discard(name)
            else:
                self._services_shown.add(name)
            self._write(name)
        for pod in self._pods.all():
            if text(pod, "metadata", "namespace") == namespace:
                self._pod_told(pod, False)  # noqa: FBT003  # as the store calls it

    def _names_of(self, pod: Manifest) -> frozenset[str]:
        is_over = text(pod, "status", "phase") in ("Succeeded", "Failed")
        if is_over or is_being_deleted(pod) or not text(pod, "status", "podIP"):
            return frozenset()
        found = set()
        namespace = text(pod, "metadata", "namespace")
        own = (text(pod, "spec", "hostname"), text(pod, "spec", "subdomain"))
        for service in self._services.all():
            if text(service, "metadata", "namespace") != namespace or not _names(service, pod):
                continue
            domain = f"{text(service, 'metadata', 'name')}.{namespace}.{DOMAIN}"
            found.add(domain)
            if own[0] and own[1] == text(service, "metadata", "name"):
                found.add(f"{own[0]}.{domain}")
        return frozenset(found)

    def _write(self, name: str) -> None:
        place = self.directory / name
        addresses = self._addresses.get(name, {})
        if not addresses:
            self._addresses.pop(name, None)
        if not addresses and name not in self._services_shown:
            place.unlink(missing_ok=True)
            return
        partial = place.with_name(f".{name}.partial")
        partial.write_text("".join(f"{one}\n" for one in addresses.values()), encoding="ascii")
        partial.replace(place)  # a reader sees the old or the new, never half of it


def _names(service: Manifest, pod: Manifest) -> bool:
    """Tell whether a Service gives the Pod a name: it is headless, selects it, and may show it."""
    selector = child(service, "spec", "selector")
    labels = child(pod, "metadata", "labels")
    return (
        text(service, "spec", "clusterIP") == "None"
        and bool(selector)
        and all(labels.get(name) == value for name, value in selector.items())
        and (child(service, "spec").get("publishNotReadyAddresses") is True or is_ready(pod))
    )
