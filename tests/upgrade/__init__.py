"""An earlier program and this one on one database, one after the other and side by side."""
