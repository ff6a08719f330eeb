"""Keys of MPI jobs: on the curve, readable by OpenSSH and OpenSSL where they are installed."""

import base64
import shutil
import subprocess
from pathlib import Path

from adapters.service.ssh_keys import (
    GENERATOR,
    ORDER,
    SshKeys,
    multiplied,
    new_ssh_keys,
    on_curve,
)


def test_the_generator_is_on_the_curve_and_of_the_order() -> None:
    assert on_curve(GENERATOR)
    assert multiplied(GENERATOR, ORDER) is None
    assert multiplied(GENERATOR, ORDER + 1) == GENERATOR


def test_multiples_are_on_the_curve_and_add_up() -> None:
    assert on_curve(multiplied(GENERATOR, 123456789))
    assert multiplied(multiplied(GENERATOR, 7), 11) == multiplied(GENERATOR, 77)


def public_point(keys: SshKeys) -> tuple[int, int]:
    """The point that the public line encodes."""
    blob = base64.b64decode(keys.public.split()[1])
    encoded = blob[-133:]
    assert encoded[0] == 4, "uncompressed"
    return int.from_bytes(encoded[1:67]), int.from_bytes(encoded[67:])


def test_the_public_key_belongs_to_the_private_one() -> None:
    keys = new_ssh_keys()
    body = base64.b64decode("".join(keys.private.splitlines()[1:-1]))
    at = body.index(b"\x04\x42") + 2
    assert multiplied(GENERATOR, int.from_bytes(body[at : at + 66])) == public_point(keys)


def test_two_pairs_differ_and_neither_is_shown() -> None:
    one, two = new_ssh_keys(), new_ssh_keys()
    assert one.private != two.private
    assert repr(one) == "SshKeys(…)"


def test_openssh_and_openssl_read_them(tmp_path: Path) -> None:
    """Each of the two is asked if it is installed; the arithmetic is tested above without them."""
    keys, file = new_ssh_keys(), tmp_path / "id"
    file.touch(0o600)
    file.write_text(keys.private)
    if shutil.which("openssl"):
        subprocess.run(["openssl", "ec", "-in", file, "-check", "-noout"], check=True)
    if shutil.which("ssh-keygen"):
        command = ["ssh-keygen", "-y", "-f", str(file)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        assert said.stdout.split()[:2] == keys.public.split()[:2]
