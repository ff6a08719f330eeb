"""Errors of reading a file that somebody else wrote, each worded in one line."""

import binascii
import json
import struct

NOT_ONE_OF_OURS = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RecursionError, binascii.Error, struct.error),
)
"""Wrong types, numbers beyond any, characters that are none, endless nesting."""

_SAID_MAX = 200


def said(error: Exception) -> str:
    """Return what is wrong with a document; it may be quoted at length in the error."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON, at character {error.pos + 1}"
    return (str(error) or type(error).__name__)[:_SAID_MAX]
