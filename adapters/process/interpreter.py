"""How the interpreter is set up: threads of one process serve and compute, and logs are long."""

import gc

SWITCH_INTERVAL_SECONDS = 0.0005
"""At Python's default of 5 ms a timer beside a busy thread is up to 200 ms late, and a browser
waits for the style of a page until the page is written."""

GC_THRESHOLDS = (50_000, 50, 100)
"""Objects made until the garbage collector looks at the youngest, and so on.

At Python's default of 700 it takes a sixth of a service's CPU, and a third of what it costs to read
a log: it walks again and again over states and events, which hold no cycles.
"""


def collect_seldom() -> None:
    """Have the garbage collector of this process look as seldom as suits many small values."""
    gc.set_threshold(*GC_THRESHOLDS)
