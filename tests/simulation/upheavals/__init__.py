"""What befalls all there is at once: a namespace ends, quotas last, jobs are deleted in other ways.

In seeds from `FAR_FROM` on alone, so that the dice of older ones fall as they did.
"""

from tests.simulation.nature import Move
from tests.simulation.retry_options import OPTIONS_FROM
from tests.simulation.training import is_real

FAR_FROM = 20_000_000
"""From this seed on."""


def has_upheavals(seed: int) -> bool:
    """Return whether a run has any; of those with options of retries every second one.

    Of those with TrainJobs of real users it is every third, so that some have restores of etcd.
    """
    if is_real(seed):
        return seed % 3 == 0
    return seed >= FAR_FROM and (seed < OPTIONS_FROM or seed % 2 == 1)


class Upheaval:
    """One kind of it, of which nothing happens but what a kind says."""

    def possible(self) -> list[Move]:
        """Return what happens by itself."""
        return []

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return []

    def wishes(self) -> list[Move]:
        """Return what users may do next."""
        return []
