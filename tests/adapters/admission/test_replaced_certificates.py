"""Files and Secrets of certificates that are replaced under a server that serves with them."""

import base64
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest
import urllib3
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from structlog.testing import capture_logs

from jobledger.adapters.admission import looking_after, tls
from jobledger.adapters.admission.certificates import Certificate, new_certificate
from jobledger.adapters.admission.kept_certificate import OURS, KeptCertificate
from jobledger.adapters.admission.looking_after import certified, keep_fresh
from jobledger.adapters.admission.reviews import webhook_app
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import WEBHOOK_CONFIGURATIONS, Cluster
from jobledger.core.values.documents import Manifest

NOW = SystemClock().now()
FIRST = new_certificate(("localhost",), NOW)
SECOND = new_certificate(("localhost",), NOW, FIRST.trusted)
VALID = timedelta(days=90)
PIPE_BYTES = 65_536
"""What a pipe holds until it is read."""


def with_password(key: str) -> str:
    """Return a key that is encrypted."""
    form = (Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    return load_pem_private_key(key.encode(), None).private_bytes(*form).decode()


@dataclass
class Kept:
    """An API server that has one object: the Secret, or the ConfigMap."""

    found: Manifest | None = None
    written: list[Manifest] = field(default_factory=list)

    def get(self, *_: object) -> Manifest | None:
        return self.found

    def create(self, _: object, made: Manifest) -> None:
        self.written.append(made)

    def replace(self, _: object, made: Manifest) -> None:
        self.written.append(made)

    def certificate(self, **more: Any) -> KeptCertificate:  # noqa: ANN401 passed on
        return KeptCertificate(
            cluster=cast(Cluster, self),
            now=lambda: NOW,
            namespace="ml",
            service="localhost",
            configuration="",
            **more,
        )


def write(directory: Path, chain: str, key: str, trusted: str = FIRST.trusted) -> None:
    for name, content in (("tls.crt", chain), ("tls.key", key), ("ca.crt", trusted)):
        (directory / name).write_text(content)


class Served:
    """A server whose certificate is that of a directory."""

    def __init__(self, directory: Path) -> None:
        context = tls.context()
        self.refresh = certified(context, Kept().certificate(), directory)
        self.http = HttpServer(webhook_app({}), "127.0.0.1", 0, tls=context)
        self._authorities = directory / "trusted"

    def answers(self, trusted: str) -> bool:
        """Return whether somebody who trusts these authorities is answered."""
        self._authorities.write_text(trusted)
        port = self.http.url.rpartition(":")[2]
        with urllib3.PoolManager(ca_certs=str(self._authorities)) as pool:
            try:
                pool.request("GET", f"https://localhost:{port}/healthz", retries=False)
            except urllib3.exceptions.SSLError:
                return False
        return True


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    write(tmp_path, FIRST.chain, FIRST.key)
    made = Served(tmp_path)
    made.http.start()
    yield made
    made.http.stop()


@pytest.mark.parametrize(
    ("chain", "key"),
    [
        (SECOND.chain, FIRST.key),
        (FIRST.chain, SECOND.key),
        (SECOND.chain, SECOND.key[:100]),
        (SECOND.chain[:100], SECOND.key),
        ("", ""),
    ],
    ids=["the key is not there yet", "nor the certificate", "half a key", "half of it", "nothing"],
)
def test_the_one_before_is_served_until_the_next_is_whole(
    served: Served, chain: str, key: str, tmp_path: Path
) -> None:
    write(tmp_path, chain, key)
    with pytest.raises(tls.NoCertificate, match=r"tls\.crt and tls\.key cannot be used"):
        served.refresh()
    assert served.answers(FIRST.trusted)
    write(tmp_path, SECOND.chain, SECOND.key)
    served.refresh()
    assert served.answers(SECOND.trusted)
    assert not served.answers(FIRST.trusted)


def test_a_certificate_that_was_deleted_is_served_on(served: Served, tmp_path: Path) -> None:
    (tmp_path / "tls.crt").unlink()
    with pytest.raises(tls.NoCertificate, match="No such file"):
        served.refresh()
    assert served.answers(FIRST.trusted)


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (timedelta(0), []),
        (VALID * 0.8, []),
        (VALID * 0.95, ["certificate_ends_soon"]),
        (VALID * 1.01, ["certificate_has_ended"]),
    ],
    ids=["fresh", "is renewed soon", "was not renewed", "has ended"],
)
def test_a_certificate_that_nobody_renews_is_told(
    age: timedelta, told: list[str], tmp_path: Path
) -> None:
    old = new_certificate(("localhost",), NOW - age, valid=VALID)
    write(tmp_path, old.chain, old.key)
    with capture_logs() as lines:
        certified(tls.context(), Kept().certificate(other_names=("localhost",)), tmp_path)
    assert [line["event"] for line in lines] == told
    assert all(line["file"] == str(tmp_path / "tls.crt") for line in lines)


@pytest.mark.parametrize("trusted", ["", "no certificate", "\0"])
def test_whom_to_trust_is_never_nobody(trusted: str, tmp_path: Path) -> None:
    write(tmp_path, FIRST.chain, FIRST.key, trusted)
    api = Kept()
    with pytest.raises(tls.NoCertificate, match=r"ca\.crt holds no certificate"):
        certified(tls.context(), api.certificate(authority="jobledger-ca"), tmp_path)
    assert not api.written


def secret(certificate: Certificate) -> Manifest:
    parts = {"tls.crt": certificate.chain, "tls.key": certificate.key}
    data = {**parts, "ca.crt": certificate.trusted}
    encoded = {key: base64.b64encode(pem.encode()).decode() for key, pem in data.items()}
    metadata: Manifest = {"name": "localhost-tls", "namespace": "ml", "labels": OURS}
    return {"metadata": metadata, "data": encoded}


@pytest.mark.parametrize("key", [SECOND.key, "no key"])
def test_a_secret_whose_key_is_not_its_certificates_is_made_anew(key: str) -> None:
    kept = Kept().certificate(other_names=("localhost",))
    whole = new_certificate(kept.names, NOW)
    spoilt = Certificate(chain=whole.chain, key=key, trusted=whole.trusted)
    api = Kept(secret(spoilt))
    made = api.certificate(other_names=("localhost",)).read()
    assert made.chain != whole.chain
    assert whole.trusted in made.trusted
    tls.take(tls.context(), made)
    assert Kept(secret(whole)).certificate(other_names=("localhost",)).read() == whole


def test_a_certificate_is_taken_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only Linux has, a file in memory, is not needed; a key is on no disk."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    before, files = set(threading.enumerate()), len(list(Path("/dev/fd").iterdir()))
    context = tls.context()
    tls.take(context, FIRST)
    long = Certificate(chain=FIRST.chain * 200, key=FIRST.key, trusted="")
    assert len(long.chain) > PIPE_BYTES
    tls.take(context, long)
    for spoilt in ("", "no key", FIRST.key[:100], SECOND.key, long.chain):
        with pytest.raises(tls.NoCertificate):
            tls.take(context, Certificate(chain=long.chain, key=spoilt, trusted=""))
    assert set(threading.enumerate()) <= before, "of the threads; others' may end meanwhile"
    assert len(list(Path("/dev/fd").iterdir())) <= files


def test_no_error_of_the_machine_ends_the_looking_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking_after, "LOOK_SECONDS", 0.001)
    stopped, looks = Event(), 0

    def refresh() -> None:
        nonlocal looks
        looks += 1
        if looks > 1:
            stopped.set()
        raise OSError(24, "Too many open files")

    with capture_logs() as lines:
        keep_fresh(refresh, stopped)
    assert looks == 2
    assert lines[0]["event"] == "certificate_not_checked"


def test_a_key_with_a_password_is_refused_and_nobody_asked(tmp_path: Path) -> None:
    write(tmp_path, FIRST.chain, with_password(FIRST.key))
    with pytest.raises(tls.NoCertificate):
        tls.take_from(tls.context(), tmp_path)


def configuration(*clients: Manifest) -> Manifest:
    """Return a webhook configuration that calls these."""
    return {"webhooks": [{"name": "one", "clientConfig": client} for client in clients]}


SERVICE: Manifest = {"service": {"namespace": "ml", "name": "hooks"}}
CALLS = "hooks.ml.svc"


@pytest.mark.parametrize(
    ("names", "found", "missing"),
    [
        ((CALLS,), configuration(SERVICE), ""),
        (("*.ML.svc",), configuration(SERVICE), ""),
        (("localhost.ml.svc",), None, ""),
        (("localhost.ml.svc",), {"webhooks": []}, ""),
        (("localhost.ml.svc",), configuration(SERVICE), CALLS),
        (("*.svc",), configuration(SERVICE), CALLS),
        ((CALLS,), None, "localhost.ml.svc"),
        (("a.example",), configuration(SERVICE, {"url": "https://a.example:8443/x"}), CALLS),
        ((CALLS,), configuration(SERVICE, {"url": "https://[::1"}, {"url": "none"}), ""),
    ],
)
def test_a_certificate_for_another_host_than_is_called_is_told_once(
    names: tuple[str, ...], found: Manifest | None, missing: str, tmp_path: Path
) -> None:
    """The API server refused it with x509, and as failurePolicy is Ignore nobody heard of it."""
    made = new_certificate(names, NOW)
    write(tmp_path, made.chain, made.key)
    with capture_logs() as lines:
        refresh = certified(tls.context(), Kept(found).certificate(), tmp_path)
        refresh()
    assert [line["event"] for line in lines] == ["certificate_of_other_name"] * bool(missing)
    for line in lines:
        assert line["called_by"] == missing
        assert line["is_for"] == ", ".join(names)
        assert "dnsNames" in line["remedy"]


def test_our_own_certificate_is_held_against_who_is_called_too() -> None:
    class Configured(Kept):
        def get(self, *asked: object) -> Manifest | None:
            return configuration(SERVICE) if asked[0] in WEBHOOK_CONFIGURATIONS else None

    with capture_logs() as lines:
        certified(tls.context(), Configured().certificate(), None)
    assert [(line["event"], line["called_by"]) for line in lines] == [
        ("certificate_of_other_name", CALLS)
    ]
    assert "--dns-name" in lines[0]["remedy"]


def test_whoever_may_not_read_the_configurations_goes_by_the_service() -> None:
    class Refusing(Kept):
        def get(self, *_: object) -> Manifest | None:
            raise RequestForbidden("GET", 403, "Forbidden", "no")

    assert Refusing().certificate().called_by() == ("localhost.ml.svc",)
    assert Refusing().certificate(authority="jobledger-ca").called_by() == ("localhost.ml.svc",)
