"""Removes advice and guesses from a message: they name causes that did not occur.

Ray lists what may have killed an actor, and each head says as it starts what it would make of a
SIGTERM; the scheduler adds to each refusal that preemption would not help; torchrun writes that it
sends SIGTERM to those that are left. A rule that looked at such words would find a cause that
nobody has seen.
"""

import re

from jobledger.core.values.tracebacks import blanked_frames

_GUESSES = re.compile(
    r"There are some potential root causes.*"
    r"|[Tt]his (?:can|may|might|could) (?:happen|be caused|occur|be because).*"
    r"|\bpreemption: \d+/\d+ nodes are available.*"
    r"|Preemption is not helpful for scheduling.*"
    r"|No preemption victims found.*"
    r"|\(assuming that the error is not caused by.*"
    r"|Sending process \d+ closing signal.*"
    r"|Refer to the documentation on how to address.*"
    r"|(?:Refer|See|Visit|For more information)\b.{0,80}https?://.*"
    r"|NOTE: invoking MPI_ABORT.*"
    r"|one or more nodes\. Please check your PATH.*"
    r"|\bINFO \w+\.py:\d+ -- .*"
    r"|CUDA kernel errors might be asynchronously.*"
    r"|Due to the asynchronous nature of CUDA kernels.*"
)
"""Each to the end of its line."""


def certain(text: str) -> str:
    """Return a text of the same length with blanks for guesses and the frames of tracebacks."""
    shown = text
    if "\n" in text:
        shown = "\n".join(blanked_frames(text.split("\n")))
    return _GUESSES.sub(lambda found: " " * len(found[0]), shown)
