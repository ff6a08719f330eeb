"""The steps of a life at which a process dies: of each kind two, or all for who explores.

A kind is what the step does: which port it calls for what, and which events it appends. What comes
again and again, as the status of each attempt, is left in the same way by whoever dies at it.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.explore import EXAMPLES_VARIABLE

Kind = tuple[str, ...]

OF_EACH_KIND = 2
"""The second one finds what the first has left."""


def chosen(life: Sequence[Kind], begins_as: Sequence[Kind] = ()) -> Iterator[int]:
    """Return the numbers of these steps, from 1; none that `begins_as` has in the same place.

    Its deaths are died elsewhere.
    """
    met = Counter[Kind]()
    is_same = True
    for number, kind in enumerate(life, 1):
        is_same = is_same and begins_as[number - 1 : number] == [kind]
        met[kind] += 1
        if EXAMPLES_VARIABLE in os.environ or (met[kind] <= OF_EACH_KIND and not is_same):
            yield number
