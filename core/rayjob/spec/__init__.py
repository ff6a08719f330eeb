"""The specification of a RayJob as the controller reads it, with upstream's defaults."""
