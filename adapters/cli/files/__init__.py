"""Commands that write and read jobs in files."""
