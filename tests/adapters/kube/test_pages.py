"""A list of many objects, page by page."""

from jobledger.adapters.kube.watching.listing import Selection, pages
from jobledger.core.ports.cluster import RAYJOBS
from tests.adapters.kube.samples import rayjob, transport_to
from tests.support.canned_server import CannedServer, list_of


def test_the_next_page_is_asked_for_while_one_is_taken_in() -> None:
    first = list_of(rayjob("a", 90), continue_token="more")
    with CannedServer(first, list_of(rayjob("b", 91))) as server:
        found = pages(transport_to(server), Selection(resource=RAYJOBS), 2)
        next(found)
        _, second = server.wait_for_requests(2)
        assert second.query["continue"] == "more"
        assert [page.metadata.continue_token for page in found] == [""]
