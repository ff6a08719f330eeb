"""How hard the properties are tried: the same examples each time, unless more are asked for.

`JOBLEDGER_EXAMPLES=5000 pytest tests/properties` looks further, at random.
"""

import os

from hypothesis import HealthCheck, settings

USUAL = 250
EXAMPLES = int(os.environ.get("JOBLEDGER_EXAMPLES", USUAL))

effort = settings(
    max_examples=EXAMPLES,
    deadline=None,  # the machine is shared; the suite has a limit of its own
    derandomize=EXAMPLES == USUAL,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

lighter = settings(effort, max_examples=max(EXAMPLES // 3, 1))
"""For properties of which each example is a whole life."""
