"""Tests of files and forms that are read by others."""
