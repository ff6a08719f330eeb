"""Replays recorded decisions, with the same policy or with another one."""
