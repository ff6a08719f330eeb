"""The log of a container, as a kubelet sends it."""


class Kubelet:
    """Sends the last lines of a log, and of those the first bytes."""

    def __init__(self, log: str) -> None:
        self._lines = log.splitlines(keepends=True)
        self.asked = 0

    def read(self, *, tail_lines: int | None = None, limit_bytes: int | None = None) -> str:
        self.asked += 1
        sent = "".join(self._lines[-(tail_lines or 0) :]).encode()[:limit_bytes]
        return sent.decode(errors="replace")
