"""The page of all settings: name in the environment, default, meaning."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from pydantic import AliasChoices, SecretStr
from pydantic.fields import FieldInfo

from docs.reference.from_code.attributes import attributes, cell, one_line
from docs.reference.from_code.cli import commands, environments
from jobledger.adapters.settings import Settings

HEAD = """\
# Settings

Read from the environment; the commands' options come before it ([commands](cli.md)). Several values
(`JOBLEDGER_NAMESPACES`) are written as a JSON list: `["team-a", "team-b"]`.
"""

COMPUTED = {
    "data_dir": "`/var/lib/jobledger` for root or without a home, else `$XDG_DATA_HOME/jobledger` "
    "(`~/.local/share/jobledger`)",
    "replica": "the name of the host",
}
"""Defaults that depend on the machine."""


OF_COMMANDS = """
Only single commands read these, in place of an option:
"""


def settings_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *_rows(), OF_COMMANDS, *_rows_of_commands())) + "\n"


def _rows() -> Iterator[str]:
    yield "| environment | default | meaning |"
    yield "|---|---|---|"
    words = {field.name: field.words for field in attributes(Settings)}
    for name, field in Settings.model_fields.items():
        yield f"| {environment(name, field)} | {_default(name, field)} | {cell(words[name])} |"


def _rows_of_commands() -> Iterator[str]:
    """Yield what options take from the environment that is no setting of all commands."""
    known = ", ".join(environment(name, field) for name, field in Settings.model_fields.items())
    found: dict[str, tuple[str, list[str]]] = {}
    for command, made in commands().items():
        for item in made.params:
            for name in environments(item.envvar):
                if f"`{name}`" not in known:
                    words = cell(one_line(item.help))
                    found.setdefault(name, (words, []))[1].append(f"`{command} {item.opts[0]}`")
    yield "| environment | option | meaning |"
    yield "|---|---|---|"
    for name, (words, options) in sorted(found.items()):
        yield f"| `{name}` | {', '.join(options)} | {words} |"


def environment(name: str, field: FieldInfo) -> str:
    """Return the environment variables that set a field, in code style."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        names = [str(choice) for choice in alias.choices if str(choice).isupper()]
        return ", ".join(f"`{choice}`" for choice in names)
    return f"`JOBLEDGER_{name.upper()}`"


def _default(name: str, field: FieldInfo) -> str:
    if name in COMPUTED:
        return COMPUTED[name]
    value = field.default
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    return f"`{value}`" if value not in ("", ()) else "empty"
