"""Looks again at jobs that are held, released or unseen."""
