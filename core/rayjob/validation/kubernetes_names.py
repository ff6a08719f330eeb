"""Kubernetes' validation of names and labels, with its messages.

Source: k8s.io/apimachinery v0.36 (pkg/util/validation, pkg/api/validate/content), literally.
"""

import re

LABEL_MAX_BYTES = 63
SUBDOMAIN_MAX_BYTES = 253

_LABEL = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_1123}(\.{_DNS_1123})*"


def _broken(rule: str, regex: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{regex}')"


def _too_long(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if _bytes(text) > limit else []


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def dns_1035_label_errors(text: str) -> list[str]:
    """Return what is wrong with `text` as the name of a Service or a RayJob."""
    long = f"must be no more than {LABEL_MAX_BYTES} characters"
    errors = [long] if _bytes(text) > LABEL_MAX_BYTES else []
    if not re.fullmatch(_DNS_1035, text):
        rule = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
            "with an alphabetic character, and end with an alphanumeric character"
        )
        errors.append(_broken(rule, _DNS_1035, "my-name", "abc-123"))
    return errors


def label_value_errors(text: str) -> list[str]:
    """Return what is wrong with `text` as the value of a label."""
    errors = _too_long(text, LABEL_MAX_BYTES)
    if not re.fullmatch(f"({_LABEL})?", text):
        rule = (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', "
            "'_' or '.', and must start and end with an alphanumeric character"
        )
        errors.append(_broken(rule, f"({_LABEL})?", "MyValue", "my_value", "12345"))
    return errors


def label_key_errors(text: str) -> list[str]:
    """Return what is wrong with `text` as the key of a label, prefix included."""
    rule = (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character"
    )
    broken = _broken(rule, _LABEL, "MyName", "my.name", "123-abc")
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {broken} {optional}"]
    errors = _prefix_errors(prefix) if slash else []
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {error}" for error in _too_long(name, LABEL_MAX_BYTES)]
    if not re.fullmatch(_LABEL, name):
        errors.append(f"name part {broken}")
    return errors


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    return [f"prefix part {error}" for error in subdomain_errors(prefix)]


def subdomain_errors(text: str) -> list[str]:
    """Return what is wrong with `text` as the name of most objects."""
    errors = _too_long(text, SUBDOMAIN_MAX_BYTES)
    if not re.fullmatch(_SUBDOMAIN, text):
        rule = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character"
        )
        errors.append(_broken(rule, _SUBDOMAIN, "example.com"))
    return errors
