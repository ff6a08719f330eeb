"""Which names and labels are allowed, and how generateName ends.

Source: k8s.io/apimachinery pkg/util/validation (v0.36), messages included.
"""

import re
import secrets
from typing import Final

from jobledger.sandbox.model.documents import Document
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.refusals import FieldError, required, wrong

SUBDOMAIN_LIMIT: Final = 253
LABEL_LIMIT: Final = 63
SUFFIX_CHARACTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH: Final = 5

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
_DNS_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_DNS_1035}')"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_LABEL_VALUE}')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_QUALIFIED}')"
)


def generated(prefix: str) -> str:
    """Return a name that begins with `prefix` and ends with five characters by chance."""
    suffix = "".join(secrets.choice(SUFFIX_CHARACTERS) for _ in range(SUFFIX_LENGTH))
    return prefix[: LABEL_LIMIT - SUFFIX_LENGTH] + suffix


def check_name(kind: Kind, name: str) -> list[FieldError]:
    """Return what is wrong with the name of an object of `kind`."""
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    if kind.plural == "services" and not kind.group:
        pattern, rule, limit = _DNS_1035, _DNS_1035_RULE, LABEL_LIMIT
    elif kind.plural == "namespaces" and not kind.group:
        pattern, rule, limit = _LABEL, _LABEL_RULE, LABEL_LIMIT
    else:
        pattern, rule, limit = _SUBDOMAIN, _SUBDOMAIN_RULE, SUBDOMAIN_LIMIT
    errors = []
    if len(name) > limit:
        errors.append(wrong("metadata.name", name, f"must be no more than {limit} bytes"))
    if not re.fullmatch(pattern, name):
        errors.append(wrong("metadata.name", name, rule))
    return errors


def check_labels(labels: Document, field: str = "metadata.labels") -> list[FieldError]:
    """Return what is wrong with labels: keys are qualified names, values short words."""
    errors = []
    for key, value in labels.items():
        prefix, _, name = key.rpartition("/")
        if not re.fullmatch(_QUALIFIED, name) or len(name) > LABEL_LIMIT:
            errors.append(wrong(field, key, _QUALIFIED_RULE))
        if "/" in key and not re.fullmatch(_SUBDOMAIN, prefix):
            errors.append(wrong(field, key, f"prefix part {_SUBDOMAIN_RULE}"))
        if len(value) > LABEL_LIMIT:
            errors.append(wrong(field, value, f"must be no more than {LABEL_LIMIT} bytes"))
        if not re.fullmatch(_LABEL_VALUE, value):
            errors.append(wrong(field, value, _LABEL_VALUE_RULE))
    return errors
