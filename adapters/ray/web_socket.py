"""The part of the WebSocket protocol needed to notice that a stream has ended.

Payloads are passed over, and no more is kept than a control frame that has begun: 138 bytes.
Source: RFC 6455, section 5.
"""

import os

CONTINUES, CLOSE, PING, PONG = 0x0, 0x8, 0x9, 0xA
MASKED = 0x80
SHORT_MAX, IN_TWO_BYTES, IN_EIGHT_BYTES = 125, 126, 127
"""A control frame is short; a data frame's length may follow in more bytes."""


class FrameSkipper:
    """Takes bytes as they come and tells which control frames were among them."""

    def __init__(self) -> None:
        self._pending = b""
        self._left = 0
        """Bytes of a payload that are still to come and to be passed over."""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the control frames in `data`, each with its payload.

        A control frame that is longer than any may be is told as a CLOSE: what comes after it is
        not to be trusted.
        """
        found: list[tuple[int, bytes]] = []
        data, begin = self._pending + data, min(self._left, len(data))
        self._left -= begin
        while (head := _head_of(data, begin)) is not None:
            opcode, start, length = head
            if opcode >= CLOSE and length > SHORT_MAX:
                found.append((CLOSE, b""))
                begin = len(data)
                break
            if opcode >= CLOSE:
                if len(data) < start + length:
                    break
                found.append((opcode, data[start : start + length]))
            begin = min(start + length, len(data))
            self._left = start + length - begin
        self._pending = data[begin:]
        return found


def _head_of(data: bytes, begin: int) -> tuple[int, int, int] | None:
    """Return opcode, start and length of the payload of the frame at `begin`, if its head is there.

    `start` is a place in `data`.
    """
    if len(data) < begin + 2:
        return None
    opcode, length, start = data[begin] & 0x0F, data[begin + 1] & ~MASKED, begin + 2
    if length > SHORT_MAX:
        more = 2 if length == IN_TWO_BYTES else 8
        if len(data) < start + more:
            return None
        length, start = int.from_bytes(data[start : start + more]), start + more
    start += 4 if data[begin + 1] & MASKED else 0
    return None if len(data) < start else (opcode, start, length)


def control_frame(opcode: int, payload: bytes = b"") -> bytes:
    """Return a control frame as a client sends it: masked."""
    mask = os.urandom(4)
    kept = payload[:SHORT_MAX]
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(kept))
    return bytes([0x80 | opcode, MASKED | len(kept)]) + mask + masked
