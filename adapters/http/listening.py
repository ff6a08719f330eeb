"""Makes the socket on which a server of ours listens."""

import socket


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens there: over IPv6 if the host is such an address.

    On `::` it takes connections over IPv4 as well, where the system can do both. What is written
    goes out at once (TCP_NODELAY, which Linux hands on to each connection): else the kernel holds
    back the second part of an answer until the client has acknowledged the first, which many do
    only after 40 ms. asyncio sets it by itself only on sockets that name TCP as their protocol.

    Raises:
        OSError: nobody can listen on that host and port.
    """
    is_six = ":" in host
    made = socket.create_server(
        (host, port),
        family=socket.AF_INET6 if is_six else socket.AF_INET,
        dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(),
    )
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def url_of(scheme: str, made: socket.socket, host: str) -> str:
    """Return the address of such a socket, by the name of the host as it was given."""
    port = made.getsockname()[1]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
