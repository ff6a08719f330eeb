"""The three lines of a controller: to the API server, to the Ray heads, to the ledger."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from sqlalchemy import make_url

from jobledger.sandbox.kubeconfig import write_kubeconfig
from tests.acceptance.site import Site
from tests.support.http_fault_proxy import HttpFaultProxy
from tests.support.postgres_fault_proxy import PostgresFaultProxy

WRITING = {
    "creating": ("POST", r"/(rayclusters|jobs)(\?|$)"),
    "deleting": ("DELETE", "/(rayclusters|jobs)/"),
    "finalizers": ("PATCH", r"/rayjobs/[^/?]+(\?|$)"),
    "status": ("PATCH", "/rayjobs/[^/]+/status"),
}
"""The writes of a controller: method and target."""

SUBMITTING = ("POST", "/api/jobs/")


@dataclass(frozen=True, slots=True)
class Lines:
    """Bad lines, good until a test spoils them."""

    api: HttpFaultProxy
    ray: HttpFaultProxy
    ledger: PostgresFaultProxy


@contextmanager
def lines_of(site: Site) -> Iterator[Lines]:
    """Run three lines to where a site's controllers would go directly."""
    ledger = make_url(site.database_url)
    assert ledger.host is not None
    with (
        HttpFaultProxy(*_place(site.api.url)) as api,
        HttpFaultProxy(*_place(site.proxy_url)) as ray,
        PostgresFaultProxy(ledger.host, ledger.port or 5432) as through,
    ):
        yield Lines(api, ray, through)


def at_the_end_of(lines: Lines, site: Site) -> Site:
    """Return the site as a controller sees it that has nothing but these lines."""
    kubeconfig = site.directory / "kubeconfig-of-a-bad-line"
    write_kubeconfig(kubeconfig, lines.api.url)
    url = make_url(site.database_url).set(port=lines.ledger.port)
    terminal = site.terminal.with_environment(
        KUBECONFIG=str(kubeconfig),
        HTTP_PROXY=lines.ray.url,
        DATABASE_URL=url.render_as_string(hide_password=False),
    )
    return replace(site, terminal=terminal)


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port
