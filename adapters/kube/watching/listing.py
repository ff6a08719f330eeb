"""Lists all objects of a kind, in pages of one consistent snapshot."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

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


def pages(
    transport: Transport, selection: Selection, limit: int, first: ObjectPage | None = None
) -> Iterator[ObjectPage]:
    """Yield the objects page by page, `limit` each (0: all in one), from the first page on.

    Each page is asked for while the one before is taken in, as client-go's pager does: the API
    server takes as long to make a page as its objects take here.

    All pages show the state at the first one's resourceVersion. Raises `VersionExpired` on the way
    when the server forgets that state (its history is some minutes long): begin anew then. Raises
    `UnreadableAnswer` for a list that does not end.
    """
    page, asked_for = first or page_of(transport, selection, limit), ""
    for _ in range(1, PAGES_MAX):
        token = page.metadata.continue_token
        if token in ("", asked_for):
            break
        coming = _Coming(partial(page_of, transport, selection, limit, token))
        yield page
        page, asked_for = coming.page(), token
    yield page
    if token := page.metadata.continue_token:
        if token == asked_for:
            raise unreadable(selection.about, "the list goes on where it was, again and again")
        raise unreadable(selection.about, f"a list of more than {PAGES_MAX} pages")


def newest_version(transport: Transport, selection: Selection) -> str:
    """Return the resourceVersion at which the API server is now, by a list of one object at most.

    Labels do not matter to it, and looking for one that has them could be dear.
    """
    anything = Selection(resource=selection.resource, namespace=selection.namespace)
    return page_of(transport, anything, 1).metadata.resourceVersion


def page_of(transport: Transport, selection: Selection, limit: int, token: str = "") -> ObjectPage:
    """Return the first page, or the one that a token of the page before it stands for."""
    paging = [("limit", str(limit))] if limit else []
    paging += [("continue", token)] if token else []
    request = Request(
        method="GET",
        path=selection.path,
        query=(*selection.query, *paging),
        about=selection.about,
    )
    return read_page(request.what, transport.send(request))


class _Coming:
    """A page that is asked for on a thread of its own; if nobody takes it, it is dropped."""

    def __init__(self, ask: Callable[[], ObjectPage]) -> None:
        self._answer: Future[ObjectPage] = Future()
        threading.Thread(target=self._run, args=(ask,), name="list-ahead", daemon=True).start()

    def _run(self, ask: Callable[[], ObjectPage]) -> None:
        try:
            self._answer.set_result(ask())
        except BaseException as failure:  # noqa: BLE001  # it is raised where the page is taken
            self._answer.set_exception(failure)

    def page(self) -> ObjectPage:
        """Return it once it is there; raises what asking for it raised."""
        return self._answer.result()
