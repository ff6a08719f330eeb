"""How the interpreter is set up where threads of one process serve and compute."""

SWITCH_INTERVAL_SECONDS = 0.0005
"""At Python's default of 5 ms a timer beside a busy thread is up to 200 ms late, and a browser
waits for the style of a page until the page is written."""
