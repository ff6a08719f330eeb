"""What requests are sent with, and where it is looked for again: a token, its file, a plug-in.

The official client reads a kubeconfig's token file once, runs a plug-in without a limit, and goes
on as nobody where it failed. Here what is renewed on disk is found within seconds, and what cannot
be used is said in a sentence.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kubernetes.client import Configuration
from kubernetes.config import ConfigException

from jobledger.adapters.files.regular import open_regular

BEARER = "BearerToken"
"""What the official client calls the token among its keys."""


class UnusableCredentials(ConfigException):
    """There are no credentials to ask with; the text says why, and may be told."""


class Credentials(Protocol):
    """Who we say we are, and how that is brought up to date."""

    def renew(self, configuration: Configuration) -> None:
        """Put what is used from now on into the client's configuration.

        Raises:
            UnusableCredentials: there is none.
        """

    def refused(self) -> None:
        """Hear that the API server does not take them: what was kept is of no use any more."""


class LastingCredentials:
    """Those that stay as they are for as long as the program runs."""

    def renew(self, configuration: Configuration) -> None:
        """Leave everything as it is."""

    def refused(self) -> None:
        """Keep them: there are no others."""


@dataclass(slots=True)
class TokenFile:
    """A token in a file that somebody replaces from time to time.

    Where it cannot be read, the last one is used until it is refused: whoever replaces a file may
    empty it first.
    """

    path: Path
    _last: str = field(default="")

    def renew(self, configuration: Configuration) -> None:
        """Read the file; as `Credentials`."""
        try:
            with open_regular(self.path) as file:
                text = file.read().decode()
            self._last = token_of(text, f"the token file {self.path}")
        except (OSError, UnicodeDecodeError) as failure:
            why = getattr(failure, "strerror", None) or "it is no text"
            self._go_on_or(UnusableCredentials(f"the token file {self.path}: {why}"))
        except UnusableCredentials as failure:
            self._go_on_or(failure)
        configuration.api_key[BEARER] = f"Bearer {self._last}"

    def refused(self) -> None:
        """Forget the token."""
        self._last = ""

    def _go_on_or(self, failure: UnusableCredentials) -> None:
        if not self._last:
            raise failure


def token_of(text: str, whose: str) -> str:
    """Return the token in a text, which may end with a line break.

    Raises:
        UnusableCredentials: there is none, or one that no header can hold.
    """
    token = text.strip()
    if not token:
        raise UnusableCredentials(f"{whose} is empty")
    if not token.isascii() or not token.isprintable():
        raise UnusableCredentials(f"{whose} holds characters that no token has")
    return token


def check_token(configuration: Configuration) -> None:
    """Take blanks around the token away that a kubeconfig or a setting gives.

    Raises:
        UnusableCredentials: as `token_of`.
    """
    given = configuration.api_key.get(BEARER)
    if given is not None:
        kind, _, token = given.partition(" ")
        configuration.api_key[BEARER] = f"{kind} {token_of(token, 'the token')}"
