"""This process itself: how its interpreter is set up, and on which core it runs."""
