"""Says how many there are of something: `1 seal`, `2 seals`."""


def counted(count: int, thing: str, things: str = "", *, grouped: bool = False) -> str:
    """Return a count with what is counted; `things` where that is no `s` more.

    `grouped` sets its thousands apart.
    """
    number = f"{count:,}" if grouped else str(count)
    return f"{number} {thing if count == 1 else things or f'{thing}s'}"
