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


class NotOneOfOurs(ValueError):
    """What a document holds is none of ours; its text is for whoever brought it."""


def said(error: Exception) -> str:
    """Return what is wrong with a document, never in the words of Python."""
    if isinstance(error, NotOneOfOurs):
        return str(error)[:_SAID_MAX]
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON, at character {error.pos + 1}"
    if isinstance(error, UnicodeError):
        return "it has half a character in a text"
    return "it has a value that no ledger writes"
