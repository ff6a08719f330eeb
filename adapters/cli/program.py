"""Starts the program `jobledger`: Ctrl-C ends it without a traceback from its first line on.

What every command needs is loaded within half a second, and within two on a busy machine. Python
would tell on which line of a library the signal came.
"""

import signal


def program() -> None:
    """Run a command. While it is loaded Ctrl-C does what it does to a program without Python."""
    was = signal.getsignal(signal.SIGINT)
    if was is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from jobledger.adapters.cli.main import main  # noqa: PLC0415 this is what takes so long

    signal.signal(signal.SIGINT, was)
    main()
