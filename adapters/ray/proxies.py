"""Chooses the proxy through which a Ray head is reached.

The standard variables decide: HTTP_PROXY, ALL_PROXY and NO_PROXY in both cases, lower case first.
The sandbox resolves the names of Services this way.
"""

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from urllib3.util import make_headers


def environment_proxies() -> Mapping[str, str]:
    """Return what the environment says, by scheme; `no` holds the exceptions."""
    return getproxies_environment()


def proxy_for(address: str, proxies: Mapping[str, str]) -> str | None:
    """Return the URL of the proxy for `host:port`, or None for a direct connection."""
    proxy = proxies.get("http") or proxies.get("all")
    if not proxy or proxy_bypass(address, dict(proxies)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def proxy_credentials(proxy: str) -> dict[str, str]:
    """Return the header that carries the user and password of the proxy's URL, if it has them."""
    parts = urlsplit(proxy)
    if not parts.username:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return dict(make_headers(proxy_basic_auth=pair))
