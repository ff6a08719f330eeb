"""How hard the properties are tried: the same examples each time (`make explore`: fresh ones)."""

import os

from hypothesis import HealthCheck, settings

from tests.explore import EXAMPLES_VARIABLE

USUAL = 150
EXAMPLES = int(os.environ.get(EXAMPLES_VARIABLE, USUAL))

effort = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

lighter = settings(effort, max_examples=max(EXAMPLES // 3, 1))
"""For properties of which each example is a whole life."""
