"""A site whose controllers have nothing but bad lines, and somebody who checks what goes out."""

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import bytecode, prepared, sandbox, site, terminal, witness
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.faults.lines import Lines, at_the_end_of, lines_of
from tests.faults.notary import Notary
from tests.faults.retry_story import RetryStory

__all__ = ["bytecode", "prepared", "sandbox", "site", "terminal", "witness"]


@pytest.fixture
def lines(site: Site) -> Iterator[Lines]:
    """The lines of this test's controllers."""
    with lines_of(site) as made:
        yield made


@pytest.fixture
def remote(site: Site, lines: Lines) -> Site:
    """The site, at the end of bad lines."""
    return at_the_end_of(lines, site)


@pytest.fixture
def notary(site: Site, lines: Lines) -> Iterator[Notary]:
    """Somebody who checks every effect before it reaches anybody."""
    with Notary(site.database_url) as checking:
        lines.api.before = lines.ray.before = checking.check
        yield checking


@pytest.fixture
def story(site: Site, witness: Witness, notary: Notary) -> RetryStory:
    """The jobs of this test."""
    return RetryStory(site, witness, notary)
