"""Something breaks between the parts of a job, on a real API server with its own Job controller."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.broken_parts import RETRIED, SURVIVED, Story, tell
from tests.acceptance.real_site import real_site
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal

pytestmark = [pytest.mark.faults, pytest.mark.apiserver, pytest.mark.postgres]


@pytest.fixture
def site(api_server: ApiServer, terminal: Terminal, ledger_url: str) -> Iterator[Site]:
    """Stands in place of the sandbox's."""
    with real_site(api_server, terminal, ledger_url) as running:
        yield running


@pytest.mark.parametrize("story", [*RETRIED, *SURVIVED], ids=lambda story: story.name)
def test_the_job_gets_to_success(
    site: Site, witness: Witness, tmp_path: Path, story: Story
) -> None:
    tell(story, site, witness, tmp_path)
