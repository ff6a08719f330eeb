"""Which names promise a secret, and which values are too ordinary to be one.

A name is what stands before a value: an environment variable, a key of a document, an option of a
command, a header. Names are cut into words at `_`, `-`, `.`, `/` and where lower case turns into
upper case, so that `author`, `tokenizer` and `max_tokens` promise nothing.
"""

import re
from functools import lru_cache

SURE_LENGTH = 4
"""Characters from which a value under a name that promises a secret is searched for elsewhere."""

UNSURE_LENGTH = 6
"""Characters from which any other literal value is searched for elsewhere."""

_NAMES_REMEMBERED = 4096
_LONGEST_NAME = 200
"""Characters of a name that are looked at."""

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_KEY_OWNERS = (
    "api|app|application|access|private|secret|signing|encryption|account|shared|master|wandb|ssh|"
    "service|license|session|storage|deploy|host|auth|subscription|consumer|client"
)
_ANYWHERE = re.compile(
    r"passw(?:or)?d|passphrase|secret|credential|"
    rf"(?:^|_)(?:{_KEY_OWNERS})_?keys?(?:_|$)|apikey|accesskey|privatekey|"
    r"(?:^|_)conn(?:ection)?_?str(?:ing)?(?:_|$)"
)
"""Words that promise a secret wherever they stand in a name cut into words."""

_AT_THE_END = re.compile(
    r"(?:[a-z0-9]*token|oauth|auth|authorization|[a-z]*dsn|pwd|pass|passcode|sig|signature|"
    r"pat|jwt|bearer|cookie|dockerconfigjson|dockercfg)"
    r"(?:_(?:value|data|string|str|text|b64|base64|json|secret|key|[0-9]+))*$"
)
"""Words that promise one only as the last of a name, because they begin many harmless names."""

_ABOUT_A_SECRET = re.compile(
    r"(?:^|_)(?:name|names|ref|refs|path|paths|file|files|dir|mount|mode|type|kind|policy|version|"
    r"length|len|enabled|disabled|expiration|expires|expiry|seconds|ttl|count|provider|class|"
    r"selector|namespace|store|backend|required|optional|algorithm|rotation)$"
    r"|[a-z](?:name|file|path|ref|dir)$"
)
"""Last words of names that tell something about a secret: where it lies, how long it lasts."""

_ORDINARY = frozenset(
    re.findall(
        r"\S+",
        """
        debug info warn warning error critical default auto latest local localhost production
        staging development testing stable release master worker driver leader follower client
        server cluster always never enabled disabled enable disable online offline ifnotpresent
        onfailure token bearer password secret basic redacted python python3 kuberay nvidia float16
        float32 bfloat16 en_us.utf-8 c.utf-8 /bin/sh /bin/bash unknown system simple native legacy
        enforce strict normal verbose public private internal external
        """,
    )
)
"""Values, in lower case, that say what half of all manifests say."""

_NUMBER = re.compile(
    r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[-+]?[0-9]{1,8}(?:\.[0-9]{0,6})?(?:[kMGTPE]i?|[mu]s?|ns|[sh%])?"
)
"""Counts, ports, "500m", "16Gi", addresses; nine digits and more may be a secret."""

_PATHS = re.compile(r"(?:/[a-z][a-z0-9._-]{0,20})+/?(?::(?:/[a-z][a-z0-9._-]{0,20})+/?)*", re.ASCII)
"""Plain directories, alone or as a search path; they would shred every stack trace."""

_NEVER = frozenset(("true", "false", "null", "none", "redacted"))


@lru_cache(maxsize=_NAMES_REMEMBERED)
def promises_secret(name: str) -> bool:
    """Tell whether what stands under `name` is to be taken for a secret.

    `HF_TOKEN`, `redis-password`, `redisPassword`, `aws.secretAccessKey` are; `secretName`,
    `tokenizer`, `password_file`, `max_tokens_per_batch` are not.
    """
    cut = _SEPARATORS.sub("_", name[-_LONGEST_NAME:])
    words = _HUMP.sub("_", cut).lower().strip("_")
    if _ABOUT_A_SECRET.search(words):
        return False
    return _ANYWHERE.search(words) is not None or _last_word_promises(words)


def _last_word_promises(words: str) -> bool:
    found = _AT_THE_END.search(words)
    return found is not None and (found.start() == 0 or words[found.start() - 1] == "_")


def worth_searching(value: str, *, sure: bool) -> bool:
    """Tell whether `value` may be replaced wherever it occurs, without shredding every text.

    Args:
        value: A literal value.
        sure: Whether its name or shape says that it is a secret.
    """
    lowered = value.lower()
    if sure:
        return len(value) >= SURE_LENGTH and lowered not in _NEVER
    if len(value) < UNSURE_LENGTH or lowered in _ORDINARY or value.isspace():
        return False
    return _NUMBER.fullmatch(value) is None and _PATHS.fullmatch(value) is None
