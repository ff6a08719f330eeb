"""Another process that runs, or attaches to, a private server; it can be killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import json, os, sys
import psycopg.sql
from jobledger.sandbox.postgres import embedded
from pathlib import Path
server = embedded.EmbeddedPostgres(Path(sys.argv[1]), durable=False)
url = server.start()
print(json.dumps({"url": url, "pid": server.server_pid, "uid": os.geteuid()}), flush=True)
sys.stdin.read()
server.stop()
"""

ROOT = Path(__file__).parents[3]


@contextmanager
def another_process(
    data_directory: Path, through: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Give a process that prints url, pid and uid as JSON and stops its server at end of input."""
    process = subprocess.Popen(
        [*through, sys.executable, "-c", PROGRAM, str(data_directory)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
