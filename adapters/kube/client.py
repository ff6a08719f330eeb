"""Reads and writes objects of any kind through the API server."""

import contextlib
from collections.abc import Iterator

from jobledger.adapters.kube import paths
from jobledger.adapters.kube.decoding import ObjectPage, read_object, read_page, with_kind
from jobledger.adapters.kube.errors import log_error, unreadable
from jobledger.adapters.kube.served_versions import any_version_served
from jobledger.adapters.kube.transport import APPLY_TYPE, MERGE_PATCH_TYPE, Request, Transport
from jobledger.adapters.kube.watching.listing import PAGE_LIMIT, Selection, pages
from jobledger.core.errors import KindNotServed, ObjectNotFound, VersionExpired
from jobledger.core.ports.cluster import CORE_EVENTS, PODS, ObjectList, Propagation, Resource
from jobledger.core.values.documents import Json, Manifest, text

_AT_ONCE = 0
"""No pages: if the state that is read is forgotten between two pages, again and again, everything
is asked for at once, as client-go does."""

OBJECT_BYTES_MAX = 16 * 1024 * 1024
"""An answer about one object that is longer is none: an API server keeps 1.5 MB of each."""

ABOUT_LIMIT = 100
"""Kubernetes Events about one object that are read at most."""

ABOUT_BYTES_MAX = 4 * 1024 * 1024
"""Of an answer with them at most this much is read: a hundred ordinary ones are 100 kB."""

LOG_LIMIT_BYTES = 1024 * 1024
"""Of a pod's log at most this much is read unless the caller says otherwise."""


class KubernetesCluster:
    """Implements `core.ports.cluster.Cluster` by requests to an API server.

    Every request is sent once; repeating it is the caller's business.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        field_manager: str = "jobledger",
        page_limit: int = PAGE_LIMIT,
    ) -> None:
        """Take what sends requests, and the name under which our writes are recorded."""
        self._transport = transport
        self._field_manager = field_manager
        self._page_limit = page_limit

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """Return the object, or None if there is none (or its kind is not defined).

        Raises `KindNotServed` if the kind is served in other versions: the object may be there.
        """
        request = Request(
            method="GET",
            path=paths.object_path(resource, namespace, name),
            about=_about(resource, namespace, name),
        )
        try:
            return self._object(request, namespace, name)
        except ObjectNotFound as error:
            self._raise_if_unserved(resource, error)
            return None

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        """Return all objects, read in pages; raise `VersionExpired` if they change too fast."""
        selection = Selection(resource=resource, namespace=namespace, labels=label_selector)
        for limit in (self._page_limit, self._page_limit):
            with contextlib.suppress(VersionExpired):
                return self._list(selection, limit)
        return self._list(selection, _AT_ONCE)

    def each(self, resource: Resource, namespace: str = "") -> Iterator[Manifest]:
        """Yield all objects, decoded one by one; raise `VersionExpired` as `list` does."""
        selection = Selection(resource=resource, namespace=namespace)
        for limit in (self._page_limit, self._page_limit):
            with contextlib.suppress(VersionExpired):
                yield from self._each(selection, limit)
                return
        yield from self._each(selection, _AT_ONCE)

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Create the object; raise `ObjectExists` if the name is taken."""
        namespace, name = _named(manifest)
        return self._object(
            Request(
                method="POST",
                path=paths.collection_path(resource, namespace),
                query=(("fieldManager", self._field_manager),),
                body=with_kind(resource, manifest),
                about=_about(resource, namespace, name),
            ),
            namespace,
            name,
        )

    def replace(self, resource: Resource, manifest: Manifest, subresource: str = "") -> Manifest:
        """Put the object or its subresource; raise `ObjectChanged` if another was faster."""
        return self._object(
            Request(
                method="PUT",
                path=paths.manifest_path(resource, manifest, subresource),
                query=(("fieldManager", self._field_manager),),
                body=with_kind(resource, manifest),
                about=_about(resource, *_named(manifest), subresource),
            ),
            *_named(manifest),
        )

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        """Merge `patch` into the object or its subresource and return the outcome."""
        return self._object(
            Request(
                method="PATCH",
                path=paths.object_path(resource, namespace, name, subresource),
                query=(("fieldManager", self._field_manager),),
                body=patch,
                content_type=MERGE_PATCH_TYPE,
                about=_about(resource, namespace, name, subresource),
            ),
            namespace,
            name,
        )

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        """Apply the manifest on the server; its fields become `field_manager`'s."""
        return self._object(
            Request(
                method="PATCH",
                path=paths.manifest_path(resource, manifest, subresource),
                query=(("fieldManager", field_manager), ("force", "true" if force else "false")),
                body=with_kind(resource, manifest),
                content_type=APPLY_TYPE,
                about=_about(resource, *_named(manifest), subresource),
            ),
            *_named(manifest),
        )

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: Propagation = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """Ask for deletion; an object that is not there is success."""
        options: dict[str, Json] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        request = Request(
            method="DELETE",
            path=paths.object_path(resource, namespace, name),
            body=options,
            about=_about(resource, namespace, name),
        )
        try:
            answer = read_object(request.what, self._transport.send(request))
        except ObjectNotFound as error:
            self._raise_if_unserved(resource, error)
            return
        if text(answer, "kind") != "Status":  # the object, where its deletion takes a while
            _refuse_another(request, answer, namespace, name)

    def pod_log(
        self,
        namespace: str,
        name: str,
        container: str = "",
        *,
        tail_lines: int | None = None,
        limit_bytes: int = LOG_LIMIT_BYTES,
        previous: bool = False,
    ) -> str:
        """Return what the container wrote: its last `tail_lines`, of those the first `limit_bytes`.

        With `previous` what its run before the last start wrote. Raises `RequestInvalid` while the
        container has not started, or was not started again, and where its node has no log of it.
        """
        query = [("limitBytes", str(limit_bytes))]
        query += [("container", container)] if container else []
        query += [("tailLines", str(tail_lines))] if tail_lines is not None else []
        query += [("previous", "true")] if previous else []
        request = Request(
            method="GET",
            path=paths.object_path(PODS, namespace, name, "log"),
            query=query,
            accept="*/*",
            about=_about(PODS, namespace, name, "log"),
        )
        content = self._transport.send(request, max_bytes=limit_bytes)
        if error := log_error(request.what, content):
            raise error
        return content.decode(errors="replace")

    def events_about(self, namespace: str, kind: str, name: str) -> tuple[Manifest, ...]:
        """Return the Kubernetes Events about an object, `ABOUT_LIMIT` at most.

        Who may write Events may make each as large as an object can be; then fewer are asked for.
        """
        selector = f"involvedObject.kind={kind},involvedObject.name={name}"
        limit = ABOUT_LIMIT
        while True:
            request = Request(
                method="GET",
                path=paths.collection_path(CORE_EVENTS, namespace),
                query=(("fieldSelector", selector), ("limit", str(limit))),
                about=f"events about {kind} {namespace}/{name}",
            )
            body = self._transport.send(request, max_bytes=ABOUT_BYTES_MAX)
            if len(body) < ABOUT_BYTES_MAX or limit == 1:
                page = read_page(request.what, body)
                return tuple(read_object(request.what, raw) for raw in page.items or ())
            limit = max(1, limit // 4)

    def _object(self, request: Request, namespace: str, name: str) -> Manifest:
        answer = self._transport.send(request, max_bytes=OBJECT_BYTES_MAX)
        found = read_object(request.what, answer)
        if name:
            _refuse_another(request, found, namespace, name)
        return found

    def _raise_if_unserved(self, resource: Resource, error: ObjectNotFound) -> None:
        """Raise the error if it says nothing of an object: its kind is served in other versions."""
        if isinstance(error, KindNotServed) and any_version_served(self._transport, resource):
            raise error

    def _each(self, selection: Selection, limit: int) -> Iterator[Manifest]:
        for page in pages(self._transport, selection, limit):
            yield from _decoded(selection, page)

    def _list(self, selection: Selection, limit: int) -> ObjectList:
        found: list[Manifest] = []
        version = ""
        for page in pages(self._transport, selection, limit):
            # That of the first page: a watch from there misses nothing, whatever the others say.
            version = version or page.metadata.resourceVersion
            found += _decoded(selection, page)
        return ObjectList(items=tuple(found), resource_version=version)


def _decoded(selection: Selection, page: ObjectPage) -> Iterator[Manifest]:
    for raw in page.items or ():
        yield with_kind(selection.resource, read_object(selection.about, raw))


def _about(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """Return the object in a few words, for errors."""
    words = (resource.plural, subresource) if subresource else (resource.plural,)
    return f"{'/'.join(words)} {namespace}/{name}" if namespace else f"{'/'.join(words)} {name}"


def _named(manifest: Manifest) -> tuple[str, str]:
    return text(manifest, "metadata", "namespace"), text(manifest, "metadata", "name")


def _refuse_another(request: Request, found: Manifest, namespace: str, name: str) -> None:
    """Raise `UnreadableAnswer` for what is not the object that was asked for.

    Whoever sent it, a proxy with a page of its own or with somebody else's answer, it says nothing
    of that object: not that it was made, nor under which UID.
    """
    if _named(found) != (namespace, name):
        raise unreadable(request.what, "it is about another object, or none")
