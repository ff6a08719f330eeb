"""Opens files that are read again and again: a password, a token, a secret of a target.

A pipe in such a place has nothing for the second reading, and whoever opens one without a writer
waits for ever. One that is read once, a kubeconfig from `<(…)`, is nobody's business here.
"""

import os
import stat
from errno import ENOTSUP
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; never wait for somebody to write into it.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(ENOTSUP, "it is no regular file", str(path))
