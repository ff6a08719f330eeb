"""What of the WebSocket protocol is needed to notice that a stream has ended.

Payloads are passed over. Source: RFC 6455, section 5.
"""

import os

CONTINUES, CLOSE, PING, PONG = 0x0, 0x8, 0x9, 0xA
MASKED = 0x80
SHORT_MAX, IN_TWO_BYTES, IN_EIGHT_BYTES = 125, 126, 127


class FrameSkipper:
    """Takes bytes as they come and tells which control frames were among them."""

    def __init__(self) -> None:
        self._pending = b""
        self._left = 0
        """Bytes of a payload that are still to come and to be passed over."""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the control frames in `data`, each with its payload."""
        found: list[tuple[int, bytes]] = []
        skipped = min(self._left, len(data))
        self._left -= skipped
        self._pending += data[skipped:]
        while (head := _head_of(self._pending)) is not None:
            opcode, start, length = head
            if opcode >= CLOSE:
                if len(self._pending) < start + length:
                    return found
                found.append((opcode, self._pending[start : start + length]))
            rest = self._pending[start:]
            self._pending = rest[length:]
            self._left = max(0, length - len(rest))
            if self._left:
                return found
        return found


def _head_of(data: bytes) -> tuple[int, int, int] | None:
    """Return opcode, start and length of the payload of the first frame, once its head is there."""
    if len(data) < 2:  # noqa: PLR2004 what every frame begins with
        return None
    opcode, length, start = data[0] & 0x0F, data[1] & ~MASKED, 2
    if length > SHORT_MAX:
        more = 2 if length == IN_TWO_BYTES else 8
        if len(data) < start + more:
            return None
        length, start = int.from_bytes(data[start : start + more]), start + more
    start += 4 if data[1] & MASKED else 0
    return None if len(data) < start else (opcode, start, length)


def control_frame(opcode: int, payload: bytes = b"") -> bytes:
    """Return a control frame as a client sends it: masked."""
    mask = os.urandom(4)
    kept = payload[:SHORT_MAX]
    masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(kept))
    return bytes([0x80 | opcode, MASKED | len(kept)]) + mask + masked
