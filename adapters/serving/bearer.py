"""The bearer token of a request."""

TOKEN_CHARACTERS_MAX = 16_384
"""A longer one is none: nobody is asked about it."""


def bearer_token(header: str) -> str:
    """Return the token of an `Authorization` header; empty if it has none, or more than a word."""
    scheme, _, rest = header.strip().partition(" ")
    words = rest.split()
    is_one = scheme.lower() == "bearer" and len(words) == 1
    return words[0] if is_one and len(words[0]) <= TOKEN_CHARACTERS_MAX else ""
