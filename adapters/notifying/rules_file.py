"""Reads the file with the rules and targets of notifications.

Addresses and tokens stand in files or variables of their own, which are read anew for each notice:
they may change, and nothing keeps them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from jobledger.adapters.files.regular import open_regular
from jobledger.adapters.files.yaml_documents import NotReadable, documents
from jobledger.core.errors import JobledgerError
from jobledger.core.notifications.messages import Form
from jobledger.core.notifications.rules import Rule, slips

FILE_BYTES_MAX = 1024 * 1024
SECRET_BYTES_MAX = 8 * 1024

_Name = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class WrongRules(JobledgerError):
    """The file with rules cannot be used as it is."""


class NoSecret(JobledgerError):
    """The address or token of a target cannot be read now."""


class Secret(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a value stands that nobody else is to see: in one of the two."""

    file: str = ""
    env: str = ""

    def read(self) -> str:
        """Return the value, without blanks around it.

        Raises:
            NoSecret: it is not there, empty, or longer than `SECRET_BYTES_MAX`.
        """
        if self.env:
            value, where = os.environ.get(self.env, ""), f"the variable {self.env}"
        else:
            value, where = _content(Path(self.file)), f"the file {self.file}"
        if not value.strip():
            raise NoSecret(f"{where} is empty or not there")
        return value.strip()


class Target(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom to tell, and how."""

    form: Form
    url: Secret
    token: Secret | None = None
    """Sent as a bearer token; None: none is."""
    per_minute: Annotated[int, Meta(ge=1, le=6000)] = 60
    """At most so many notices in a minute; the others wait."""
    tries: Annotated[int, Meta(ge=1, le=100)] = 12
    """How often a notice is tried before it is given up."""


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    targets: dict[_Name, Target]
    rules: tuple[Rule, ...]


_READ = msgspec.json.Decoder(_File)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an installation wants to be told, and where."""

    targets: Mapping[str, Target]
    rules: tuple[Rule, ...]


def read_rules(path: Path) -> Rules:
    """Return the rules of a file.

    Raises:
        WrongRules: it cannot be read, is not YAML, or says what means nothing.
    """
    found = _parsed(path)
    for name, target in found.targets.items():
        for what, secret in (("url", target.url), ("token", target.token)):
            if secret is not None and bool(secret.file) == bool(secret.env):
                raise WrongRules(f"{path}: the {what} of {name} needs either a file or an env")
    for slip in slips(found.rules, found.targets):
        raise WrongRules(f"{path}: {slip}")
    return Rules(targets=found.targets, rules=found.rules)


def _parsed(path: Path) -> _File:
    """Return what a file says; raises as `read_rules`."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise WrongRules(f"{path} is larger than {FILE_BYTES_MAX} bytes")
        first, *others = documents(content) or [None]
        if others:
            raise WrongRules(f"{path} holds more than one document")
        return _READ.decode(msgspec.json.encode(first))
    except OSError as error:
        raise WrongRules(f"{path} cannot be read: {error.strerror}") from error
    except NotReadable as error:
        raise WrongRules(f"{path} {error}") from error
    except UnicodeEncodeError as error:
        raise WrongRules(f"{path} has half a character in a text") from error
    except (msgspec.ValidationError, TypeError) as error:
        raise WrongRules(f"{path}: {error}") from error


def _content(path: Path) -> str:
    try:
        with open_regular(path) as file:
            content = file.read(SECRET_BYTES_MAX + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise NoSecret(f"the file {path} cannot be read: {why}") from error
    if len(content) > SECRET_BYTES_MAX:
        raise NoSecret(f"the file {path} is larger than {SECRET_BYTES_MAX} bytes")
    return text
