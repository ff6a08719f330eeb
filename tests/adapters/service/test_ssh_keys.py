"""Keys of MPI jobs: encoded as upstream encodes them, read by OpenSSH and OpenSSL."""

import shutil
import subprocess
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_public_key

from jobledger.adapters.kinds.trainjob.acting.keys.ssh_keys import encoded, new_ssh_keys

WORDS = "EC PRIVATE KEY"
PRIVATE_OF_ONE = f"""\
-----BEGIN {WORDS}-----
MIHcAgEBBEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAGgBwYFK4EEACOhgYkDgYYABADGhY4G
twQE6c2ePstmI5W0QpxkgTkFP7Uh+CivYGtNPbqhS1537+dZKP4dwSei/6jeM0iz
wYVqQpv5fn4xwuW9ZgEYOSlqeJo7wARcil+0LH0b2Zj1RElXm0RoF6+9Fyc+ZiyX
7nKZXvQmQMVQuQE/rQdhNTxwhqJywkCIvpR2n9FmUA==
-----END {WORDS}-----
"""
"""The private key 1 (so its public one is the curve's generator), as Go's
`pem.EncodeToMemory(x509.MarshalECPrivateKey(…))` printed it: that is what upstream calls."""

PUBLIC_OF_ONE = (
    "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBADGhY4GtwQE6c2ePstm"
    "I5W0QpxkgTkFP7Uh+CivYGtNPbqhS1537+dZKP4dwSei/6jeM0izwYVqQpv5fn4xwuW9ZgEYOSlqeJo7wARcil+0LH0b"
    "2Zj1RElXm0RoF6+9Fyc+ZiyX7nKZXvQmQMVQuQE/rQdhNTxwhqJywkCIvpR2n9FmUA==\n"
)
"""The same as Go's `ssh.MarshalAuthorizedKey` has it: a line, with its end."""


def test_a_pair_is_encoded_byte_for_byte_as_upstream_encodes_it() -> None:
    pair = encoded(ec.derive_private_key(1, ec.SECP521R1()))
    assert pair.private == PRIVATE_OF_ONE
    assert pair.public == PUBLIC_OF_ONE


def test_the_public_key_belongs_to_the_private_one_on_p521() -> None:
    pair = new_ssh_keys()
    private = load_pem_private_key(pair.private.encode(), None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    assert private.curve.name == "secp521r1"
    assert private.public_key() == load_ssh_public_key(pair.public.encode())


def test_two_pairs_differ_and_neither_is_shown() -> None:
    one, two = new_ssh_keys(), new_ssh_keys()
    assert one.private != two.private
    assert one.public != two.public
    assert repr(one) == "SshKeys(…)"


def test_openssh_and_openssl_read_them(tmp_path: Path) -> None:
    """Each of the two is asked if it is installed."""
    keys, file = new_ssh_keys(), tmp_path / "id"
    file.touch(0o600)
    file.write_text(keys.private)
    if shutil.which("openssl"):
        subprocess.run(["openssl", "ec", "-in", file, "-check", "-noout"], check=True)
    if shutil.which("ssh-keygen"):
        command = ["ssh-keygen", "-y", "-f", str(file)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        assert said.stdout.split()[:2] == keys.public.split()[:2]
