"""TrainJobs as real users have them: many runtimes, initializers, patches, queues, restarts.

In seeds from `TRAIN_FROM` on alone, so that the dice of older ones fall as they did.
"""

TRAIN_FROM = 40_000_000
"""From this seed on."""


def is_real(seed: int) -> bool:
    """Return whether the TrainJobs of a run are those of real users."""
    return seed >= TRAIN_FROM
