"""The program in clean environments of every Python that it is said to work with."""
