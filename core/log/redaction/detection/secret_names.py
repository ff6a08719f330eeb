"""The names that indicate a secret: one list for documents and running text.

A name is what stands before a value: an environment variable, a key of a document, an option of a
command, a header, an element of XML. Names are cut into words at `_`, `-`, `.`, `/` and where
lower case turns into upper case, so that `author`, `tokenizer` and `max_tokens` promise nothing.
"""

import re
from enum import Enum
from functools import lru_cache

_NAMES_REMEMBERED = 4096
_LONGEST_NAME = 200
"""Characters of a name that are looked at."""

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_KEY_OWNERS = (
    "api|app|application|access|private|secret|signing|encryption|account|shared|master|wandb|ssh|"
    "service|license|session|storage|deploy|host|auth|subscription|consumer|client|root|admin"
)
_ANYWHERE = re.compile(
    r"passw(?:or)?d|passphrase|secret(?!ar|ion)|credential|bearer_?token|"
    rf"(?:^|_)(?:{_KEY_OWNERS})_?keys?(?:_|$)|"
    r"apikey|accesskey|privatekey|(?:account|secret|shared)key|"
    r"(?:^|_)conn(?:ection)?_?str(?:ing)?(?:_|$)"
)
"""Words that promise a secret wherever they stand in a name cut into words."""

_AT_THE_END = re.compile(
    r"(?:[a-z0-9]*token|oauth2?|auth|authorization|[a-z]*dsn|[a-z]*pwd|[a-z]*pass|passcode|passwds?|"
    r"sig|signature|pat|jwt|bearer|cookie|dockerconfigjson|dockercfg|docker_auth_config|creds?)"
    r"(?:_(?:value|data|string|str|text|b64|base64|json|secret|key|[0-9]+|read|write|ro|rw|prod|"
    r"production|staging|dev|old|new|primary|secondary))*$"
)
"""Words that promise one only as the last of a name, because they begin many harmless names."""

_ABOUT_A_SECRET = re.compile(
    r"(?:^|_)(?:name|names|ref|refs|path|paths|file|files|dir|mount|mode|type|kind|policy|version|"
    r"length|len|enabled|disabled|expiration|expires|expiry|seconds|ttl|count|provider|class|"
    r"selector|namespace|store|backend|required|optional|algorithm|rotation|errors?|exception|"
    r"warning|failure|failed|missing|invalid|manager|helper|factory|handler|controller|validator|"
    r"endpoint|ur[il]|host|server|region|issuer|audience|scopes?|user|username|email|owner|size|"
    r"limit|status|state|age|usage|stdin|hint|prompt|policies|title|labels?|py|go|rs|java|cpp|com|svc|net|org|io)$"
    r"|(?:^|_)(?:existing|pull)_secrets?$|secrets?manager$"
    r"|[a-z](?:name|file|path|ref|dir|error|exception)$"
)
"""Last words of names that tell something about a secret: where it lies, how long it lasts.

What ends like source code or a host is one; `existingSecret` and `pullSecret` name Secrets.
"""

_NOT_A_TOKEN = re.compile(
    r"(?:^|_)(?:[be]os|eot|eod|pad|unk|sep|cls|mask|special|image|video|audio|start|end|stop|next|"
    r"first|last|new|num|max|min|per|page|continue|continuation|prefix|suffix|middle|word|sub|"
    r"input|output|prompt|think|tool|unexpected|bad|total|avg|mean|current|previous|fim|vision|"
    r"boi|eoi|seq|sequence|eom|class|time|syntax|generated|sampled|draft|accepted)_token$"
)
"""Tokens of language models, of parsers and of lists in pages."""

_NOT_A_PASSWORD = re.compile(
    r"(?:^|_)(?:forward|backward|first|second|third|single|multi|two|one|dry|fast|by|low|high|band|"
    r"all|train|eval|full|each|per|num|render|optimi[sz]er|compiler?|fw|bw|fwd|bwd|did|tests?|"
    r"encoder|decoder|inference|model|smoke|data|single|final|graph|inductor|fusion)_pass$"
    r"|(?:by|tres|sur|com|en)pass$"
)
"""Passes over data, and words that end like them."""

_IDENTIFIES = re.compile(
    r"(?:^|_)(?:id|ids|uid|uuid|guid|sha|sha1|sha256|md5|hash|digest|checksum|commit|revision|rev|"
    r"ref|version|tag|etag|image|run|trace|span|fingerprint|request|build)$"
    r"|[a-z](?:id|sha|hash|digest|uid)$"
)
"""Last words of names under which numbers in hexadecimal are ordinary."""


class Promise(Enum):
    """What a name says of the value under it."""

    SECRET = "a secret"  # noqa: S105  # what a name promises, no password
    NOTHING = "nothing"
    IDENTITY = "a number that tells which one is meant"


@lru_cache(maxsize=_NAMES_REMEMBERED)
def promise_of(name: str) -> Promise:
    """Return what a name promises.

    `HF_TOKEN`, `redis-password`, `redisPassword`, `aws.secretAccessKey` promise a secret;
    `secretName`, `tokenizer`, `password_file`, `max_tokens_per_batch`, `eos_token` do not.
    """
    cut = _SEPARATORS.sub("_", name[-_LONGEST_NAME:])
    words = _HUMP.sub("_", cut).lower().strip("_")
    if _promises(words):
        return Promise.SECRET
    return Promise.IDENTITY if _IDENTIFIES.search(words) is not None else Promise.NOTHING


def promises_secret(name: str) -> bool:
    """Tell whether what stands under `name` is to be taken for a secret."""
    return promise_of(name) is Promise.SECRET


def _promises(words: str) -> bool:
    if _ABOUT_A_SECRET.search(words) is not None or _NOT_A_TOKEN.search(words) is not None:
        return False
    if _ANYWHERE.search(words) is not None:
        return True
    found = _AT_THE_END.search(words)
    if found is None or not (found.start() == 0 or words[found.start() - 1] == "_"):
        return False
    return _NOT_A_PASSWORD.search(words) is None


STEMS = (
    re.compile(r"pass(?:w|phrase|code|(?![a-z]))"),
    re.compile(r"secret"),
    re.compile(r"token(?!iz)"),
    re.compile(r"credential"),
    re.compile(r"creds?(?![a-z])"),
    re.compile(r"auth(?:orization|2)?(?![a-z])"),
    re.compile(r"keys?(?![a-z])"),
    re.compile(r"pwd(?![a-z])"),
    re.compile(r"sig(?:nature)?(?![a-z])"),
    re.compile(r"dsn(?![a-z])"),
    re.compile(r"pat(?![a-z])"),
    re.compile(r"jwt(?![a-z])"),
    re.compile(r"bearer(?![a-z])"),
    re.compile(r"cookie(?![a-z])"),
    re.compile(r"dockerc(?:onfigjson|fg)|docker_auth_config"),
    re.compile(r"conn(?:ection)?[_-]?str(?:ing)?(?![a-z])"),
)
"""Where a name that promises a secret may be found in a text in lower case.

Each begins with letters, so that the search for it is quick; one expression that begins with all of
them is ten times slower. A name without any of them would be seen in documents and missed in
texts: a test compares the two.
"""
