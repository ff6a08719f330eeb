"""Which series a PromQL expression asks for, and which labels of them it names."""

import re
from collections.abc import Iterator

TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
GROUPING = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
RANGE = re.compile(r"\[[^\]]*\]")
SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\b\s*(\{[^}]*\})?+(?!\s*\()")
WORDS = {"by", "without", "on", "ignoring", "and", "or", "unless", "bool", "offset"}


def asked(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each name of a series with the labels that it is selected by."""
    bare = RANGE.sub("", GROUPING.sub(" ", TEXT.sub('""', expression)))
    for name, selection in SELECTOR.findall(bare):
        if name not in WORDS:
            yield name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selection))


def grouped(expression: str) -> set[str]:
    """Return the labels that anything is grouped or matched by."""
    found = (labels for _, labels in GROUPING.findall(TEXT.sub('""', expression)))
    return {label.strip() for labels in found for label in labels.split(",") if label.strip()}
