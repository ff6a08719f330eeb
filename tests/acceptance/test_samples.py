"""Every sample RayJob of KubeRay goes its whole way on the sandbox."""

import pytest

from tests.acceptance.samples import ONLY_RAYJOBS, drive
from tests.acceptance.site import Site
from tests.acceptance.witness import Witness
from tests.rules.rayjob.upstream import sample_names

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("name", sample_names())
def test_a_sample_of_upstream_goes_its_whole_way(site: Site, witness: Witness, name: str) -> None:
    with site.controller(**ONLY_RAYJOBS):
        drive(site, witness, name)
