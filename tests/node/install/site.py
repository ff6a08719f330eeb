"""What a cluster has before the chart comes: a Postgres that Pods reach, operators, images."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.apiserver.build import build_jobset
from tests.node import containers, network
from tests.node.build import raycluster_controller
from tests.node.install.page import ROOT
from tests.node.layout import ADDRESS, Layout
from tests.node.ray_image import image_name
from tests.node.suite.programs import started
from tests.support.api import api_of_kubeconfig
from tests.support.jobset_process import JobSetProcess
from tests.support.ports import reserved_ports
from tests.support.postgres import open_directory, plain_url

POSTGRES_PAGE = ROOT / "docs" / "howto" / "install-on-postgres.md"
ROLES = ("jobledger_owner", "jobledger_service", "analyst")
UPSTREAMS_RAY = "docker.io/rayproject/ray:2.52.0"
"""As samples call it; the node has the release that the requirements pin under this name."""
UPSTREAMS_PYTHON = "docker.io/library/python:3.12"
"""As the samples of TrainJobs call it; the node has the Python that Ray's image has."""


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server with roles and a database as the page about it says."""

    inner: str
    """The administrator's URL on this machine, of the ledger's database."""
    port: int
    """On the node's address, for Pods."""
    passwords: dict[str, str]

    def url(self, role: str) -> str:
        """Return the URL that Pods have."""
        return f"postgresql://{role}:{self.passwords[role]}@{ADDRESS}:{self.port}/jobledger"


@contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """Run a Postgres until the body ends, with what the page about it sets up.

    Args:
        folder: for the log of what lets Pods reach it.
    """
    with (
        open_directory() as directory,
        EmbeddedPostgres(directory / "data", durable=False, database="admin") as server,
    ):
        inner = plain_url(server.url)
        passwords = {role: secrets.token_hex(12) for role in ROLES}
        with psycopg.connect(inner, autocommit=True) as admin:
            for statement in _statements(passwords):
                admin.execute(sql.SQL(statement))  # of our own page
        (port,) = reserved_ports(1)
        words = network.door(port, int(inner.rpartition(":")[2].partition("/")[0]))
        with started("postgres-door", words, {}, folder):
            yield Postgres(f"{inner.rpartition('/')[0]}/jobledger", port, passwords)


def _statements(passwords: dict[str, str]) -> list[str]:
    """Return the statements of the page, with passwords."""
    page = POSTGRES_PAGE.read_text(encoding="utf-8")
    block = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)[0]
    for role, password in passwords.items():
        block, times = re.subn(rf"({role} +LOGIN PASSWORD) '…'", rf"\1 '{password}'", block)
        assert times == 1, role
    lines = (line.partition("--")[0] for line in block.splitlines())
    return [one.strip() for one in "\n".join(lines).split(";") if one.strip()]


@contextmanager
def operators(places: Layout, folder: Path) -> Iterator[None]:
    """Run upstream's RayCluster and JobSet controllers until the body ends; samples find images."""
    for name in (UPSTREAMS_RAY, UPSTREAMS_PYTHON):
        containers.ctr(places, "images", "tag", "--force", image_name(), name)
    controller = str(raycluster_controller(os.environ))
    admin = {"KUBECONFIG": str(places.kubeconfig)}
    jobset = JobSetProcess(build_jobset(os.environ), places.control_plane)
    with started("raycluster-controller", [controller], admin, folder):
        jobset.start(api_of_kubeconfig(places.kubeconfig))
        try:
            yield
        finally:
            jobset.stop()
