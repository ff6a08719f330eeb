"""What users ask for by annotations about retries: policies, pauses, what counts as a failure.

In seeds from `OPTIONS_FROM` on alone, so that the dice of older ones fall as they did.
"""

from random import Random

OPTIONS_FROM = 30_000_000
"""From this seed on."""

PREFIX = "jobledger.dev/"
VALUES = {
    "retry-policy": (
        "preemption=uncounted",
        "application=never",
        "application:1=retry, head-lost=uncounted",
        "submission=uncounted, head-lost=never",
        "application=uncounted",
        "other=never, preemption=never",
        "no-such-class=never",
    ),
    "retry-uncounted-max": ("0", "1", "2", "many"),
    "retry-delay-seconds": ("5s", "20s", "soon"),
    "retry-delay-max-seconds": ("10s",),
    "retry-jitter-percent": ("50",),
    "retry-after-pods-gone": ("true", "false"),
    "label-attempts": ("true",),
    "recover-lost-head": ("true",),
    "ray-success-wins": ("true",),
}
"""Name -> what may be asked for, also wrongly."""


def drawn(dice: Random) -> dict[str, str]:
    """Return annotations of a new job: few of them, most times."""
    names = [name for name in VALUES if dice.random() < 0.25]
    asked = {PREFIX + name: dice.choice(VALUES[name]) for name in names}
    return {**asked, PREFIX + "retry-delay-growth": "constant"}  # the end comes in good time


def edited(dice: Random) -> tuple[str, str]:
    """Return an annotation and its new value; empty: it is taken away."""
    name = dice.choice(sorted(VALUES))
    return PREFIX + name, dice.choice(("", *VALUES[name]))
