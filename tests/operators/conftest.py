"""A site on a real API server where upstream's operators can be started beside Jobledger."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import bytecode, prepared, terminal
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.operators.build import KUBERAY
from tests.operators.results import HERE, Seen, save
from tests.operators.stage import Stage
from tests.support.api import Api
from tests.support.apiserver import ApiServer
from tests.support.apiserver_content import DEFINITIONS, parsed
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

__all__ = ["bytecode", "prepared", "terminal"]

SEEN: dict[str, Seen] = {}
"""Verdict on each story by its node id, in the order of the run."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the worst verdict on set-up, story and end."""
    report = yield
    before = SEEN.get(item.nodeid)
    if before is None or before.verdict == "passed":
        file = item.path.relative_to(HERE).as_posix()
        SEEN[item.nodeid] = Seen(file, item.name, report.outcome)
    return report


def pytest_sessionfinish() -> None:
    """Leave the verdicts to whoever asked for them."""
    wanted = os.environ.get("JOBLEDGER_OPERATOR_RESULTS")
    if wanted:
        save(list(SEEN.values()), Path(wanted))


@pytest.fixture(scope="session", autouse=True)
def asked_for() -> None:
    """Skip where nobody asked for these tests; a program that is missing fails them."""
    if os.environ.get("JOBLEDGER_NEEDS_OPERATORS") != "1":
        pytest.skip("needs upstream's operators: make test-operators")


@pytest.fixture(scope="session")
def operator_server(asked_for: None, jobset_server: ApiServer) -> ApiServer:
    """The API server, with the definitions that KubeRay's operator wants besides ours."""
    del asked_for
    api = jobset_server.api()
    for name in ("rayservices", "raycronjobs"):
        file = KUBERAY.files() / "config" / "crd" / "bases" / f"ray.io_{name}.yaml"
        (definition,) = parsed(file.read_text(encoding="utf-8"))
        reply = api.request("POST", DEFINITIONS, definition)
        assert reply.code in (201, 409), reply.message  # Created, Conflict

    def are_served() -> bool:
        return all(
            api.request("GET", f"/apis/ray.io/v1/{name}").code == 200  # OK
            for name in ("rayservices", "raycronjobs")
        )

    wait_until(are_served, "the definitions are served", 60.0)
    return jobset_server


@pytest.fixture
def stage(operator_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Stage]:
    """A namespace whose RayClusters are the real operator's, and a ledger."""
    with real_site(operator_server, terminal, ledger_url, rayclusters=False) as site:
        yield Stage(site, operator_server, in_namespace(operator_server.api(), site))


def in_namespace(api: Api, site: Site) -> Api:
    """Return a client in the namespace of a site."""
    return Api(api.url, api.pool, site.api.namespace, api.headers)
