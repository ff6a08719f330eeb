"""A redaction key that keeps no secret is refused with a sentence."""

import errno
import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from jobledger.adapters.redaction_key import FILE_NAME, KEY_BYTES, redaction_key
from jobledger.adapters.settings import Settings
from jobledger.core.errors import LedgerMisconfigured


def settings(directory: Path, key: str = "") -> Settings:
    return Settings(data_dir=directory, redaction_key=SecretStr(key))


@pytest.mark.parametrize("content", ["", "\n", "00", "00" * 15, "no hexadecimal", "\udc80"])
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(LedgerMisconfigured, match=r"redaction key .* cannot be used: .*remove"):
        redaction_key(settings(tmp_path))
    assert file.read_bytes() == content.encode(errors="surrogateescape"), "nothing was overwritten"


def test_blanks_are_no_key(tmp_path: Path) -> None:
    with pytest.raises(LedgerMisconfigured, match="nothing but blanks"):
        redaction_key(settings(tmp_path, "  "))


def test_a_key_is_made_once_and_is_the_same_afterwards(tmp_path: Path) -> None:
    made = redaction_key(settings(tmp_path / "new"))
    assert len(made) == KEY_BYTES
    assert redaction_key(settings(tmp_path / "new")) == made


def test_a_full_disk_leaves_no_empty_key_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(LedgerMisconfigured, match=r"cannot be used .No space left on device"):
            redaction_key(settings(tmp_path))
    assert len(redaction_key(settings(tmp_path))) == KEY_BYTES


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FILE_NAME)
    with pytest.raises(LedgerMisconfigured, match="it is no regular file"):
        redaction_key(settings(tmp_path))
