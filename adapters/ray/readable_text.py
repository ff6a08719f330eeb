"""Replaces characters in a head's texts that cannot be stored.

JSON may carry what neither Postgres nor UTF-8 can hold: NUL, and halves of surrogate pairs.
"""


def readable(text: str) -> str:
    """Return the text with U+FFFD in place of what cannot be stored."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\x00", "\ufffd")
