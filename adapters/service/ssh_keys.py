"""A pair of SSH keys for an MPI job, made when the Secret is applied and kept nowhere else.

ECDSA on the curve P-521, as upstream makes them. Standard library only: the random number comes
from the operating system, the rest is the textbook's arithmetic on a standard curve. A key lives as
long as its job and is made once, so neither speed nor the timing of the arithmetic matters.

Sources: SEC 1 and SEC 2 (curve, encodings), RFC 5656 (the public line), RFC 5915 (the private key).
"""

import base64
import secrets
from dataclasses import dataclass
from textwrap import wrap

_P = 2**521 - 1
_A = _P - 3
_B = int(
    "0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3"
    "bb1bf073573df883d2c34f1ef451fd46b503f00",
    16,
)
_GX = int(
    "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a"
    "2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
    16,
)
_GY = int(
    "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013"
    "fad0761353c7086a272c24088be94769fd16650",
    16,
)
_LOW = "a51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
ORDER = int(f"1{'f' * (130 - len(_LOW))}{_LOW}", 16)
"""The order of the curve's generator."""

_BYTES = 66
_CURVE = b"nistp521"
_TYPE = b"ecdsa-sha2-nistp521"
_OID_P521 = bytes.fromhex("06052b81040023")

Point = tuple[int, int] | None
"""A point of the curve; None is the one at infinity."""

GENERATOR: Point = (_GX, _GY)


@dataclass(frozen=True, slots=True)
class SshKeys:
    """A pair of keys. The private one is never shown, not even by accident."""

    private: str
    """PEM, `EC PRIVATE KEY`."""
    public: str
    """A line for `authorized_keys`."""

    def __repr__(self) -> str:
        """Return no key."""
        return "SshKeys(…)"


def on_curve(point: Point) -> bool:
    """Return whether a point lies on the curve."""
    if point is None:
        return True
    x, y = point
    return (y * y - (x * x * x + _A * x + _B)) % _P == 0


def _added(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return other if one is None else one
    if one[0] == other[0] and (one[1] + other[1]) % _P == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] + _A) * pow(2 * one[1], -1, _P) % _P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P) % _P
    x = (slope * slope - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P


def multiplied(point: Point, times: int) -> Point:
    """Return the point added to itself so many times."""
    result: Point = None
    while times:
        if times & 1:
            result = _added(result, point)
        point = _added(point, point)
        times >>= 1
    return result


def new_ssh_keys() -> SshKeys:
    """Return a new pair."""
    number = secrets.randbelow(ORDER - 1) + 1
    point = multiplied(GENERATOR, number)
    assert point is not None, "no number below the order leads to infinity"
    encoded = b"\x04" + point[0].to_bytes(_BYTES) + point[1].to_bytes(_BYTES)
    line = b"".join(len(part).to_bytes(4) + part for part in (_TYPE, _CURVE, encoded))
    public = f"{_TYPE.decode()} {base64.b64encode(line).decode()}\n"
    body = _sequence(
        _tagged(0x02, b"\x01"),
        _tagged(0x04, number.to_bytes(_BYTES)),
        _tagged(0xA0, _OID_P521),
        _tagged(0xA1, _tagged(0x03, b"\x00" + encoded)),
    )
    lines = "\n".join(wrap(base64.b64encode(body).decode(), 64))
    words = "EC PRIVATE KEY"
    return SshKeys(f"-----BEGIN {words}-----\n{lines}\n-----END {words}-----\n", public)


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _tagged(tag: int, content: bytes) -> bytes:
    """Return content in DER: a tag, the length, the content."""
    length = len(content)
    if length < 0x80:  # noqa: PLR2004 the short form
        return bytes([tag, length]) + content
    size = (length.bit_length() + 7) // 8
    return bytes([tag, 0x80 | size]) + length.to_bytes(size) + content
