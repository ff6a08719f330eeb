"""The command line of `ray`: which words are options, which are their values, what is left."""

from __future__ import annotations


class UsageError(Exception):
    """The command line cannot be understood."""


def parsed(
    words: list[str], flags: frozenset[str], valued: frozenset[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the options (a flag's value is "true") and the other words; `--` ends the options."""
    options: dict[str, str] = {}
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return options, others + rest
        name, equals, value = word.partition("=")
        if name in flags and not equals:
            options[name] = "true"
        elif name in valued:
            if not equals and not rest:
                raise UsageError(f"Option {name!r} requires an argument.")
            options[name] = value if equals else rest.pop(0)
        elif word.startswith("-") and len(word) > 1:
            raise UsageError(f"No such option: {name}")
        else:
            others.append(word)
    return options, others


def tolerant(words: list[str]) -> dict[str, str]:
    """Return whatever looks like an option: for `ray start`, which has some forty of them."""
    options: dict[str, str] = {}
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            continue
        following = words[position + 1] if position + 1 < len(words) else ""
        if equals:
            options[name] = value
        elif following and not following.startswith("-"):
            options[name] = following
        else:
            options[name] = "true"
    return options
