"""The small `ray` command of the sandbox: a head with the job API, and the commands for it.

It stands in for Ray where Ray is not installed. It is started hundreds of times, each time as a
process of its own, so its modules import as little as they can (no `http`, no `subprocess`, no
`dataclasses`, no `typing`): one start costs some 25 ms of CPU instead of 300.
"""
