"""Reads the query of a request as an API server does."""

from collections.abc import Mapping


def is_asked(query: Mapping[str, str], name: str) -> bool:
    """Return whether a query says yes to an option; `watch=True`, as clients write it, is one.

    Only what is not there, `false` and `0` say no. Source: k8s.io/apimachinery, the conversion of
    url.Values to bool (pkg/runtime/converter, v0.36).
    """
    return query.get(name, "false").lower() not in ("false", "0")
