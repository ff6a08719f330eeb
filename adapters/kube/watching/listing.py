"""Lists all objects of a kind, in pages of one consistent snapshot."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobledger.adapters.kube.decoding import ObjectPage, read_page
from jobledger.adapters.kube.errors import unreadable
from jobledger.adapters.kube.paths import collection_path
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.core.ports.cluster import Resource

PAGE_LIMIT = 500
"""Objects per page; what client-go's pager takes."""

PAGES_MAX = 10_000
"""Pages of one list: far more than etcd can hold, with the usual number of objects on each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects: of a kind, of a namespace if named, with labels if selected."""

    resource: Resource
    namespace: str = ""
    labels: str = ""
    """A label selector as kubectl writes it."""

    @property
    def path(self) -> str:
        """Return the path of the collection."""
        return collection_path(self.resource, self.namespace)

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """Return the parameters that select, for a list and for a watch."""
        return (("labelSelector", self.labels),) if self.labels else ()

    @property
    def about(self) -> str:
        """Return the selection in a few words, for errors."""
        return f"{self.resource.plural} in {self.namespace or 'all namespaces'}"


def pages(transport: Transport, selection: Selection, limit: int) -> Iterator[ObjectPage]:
    """Yield the objects page by page, `limit` each (0: all in one).

    All pages show the state at the first one's resourceVersion. Raises `VersionExpired` on the way
    when the server forgets that state (its history is some minutes long): begin anew then. Raises
    `UnreadableAnswer` for a list that does not end.
    """
    token = ""
    for _ in range(PAGES_MAX):
        paging = [("limit", str(limit))] if limit else []
        paging += [("continue", token)] if token else []
        request = Request(
            method="GET",
            path=selection.path,
            query=(*selection.query, *paging),
            about=selection.about,
        )
        page = read_page(request.what, transport.send(request))
        yield page
        before, token = token, page.metadata.continue_token
        if not token:
            return
        if token == before:
            raise unreadable(request.what, "the list goes on where it was, again and again")
    raise unreadable(selection.about, f"a list of more than {PAGES_MAX} pages")


def newest_version(transport: Transport, selection: Selection) -> str:
    """Return the resourceVersion at which the API server is now, by a list of one object at most.

    Labels do not matter to it, and looking for one that has them could be dear.
    """
    anything = Selection(resource=selection.resource, namespace=selection.namespace)
    return next(pages(transport, anything, 1)).metadata.resourceVersion
