"""Reports: the projection that fills their tables, and the questions asked of their views."""
