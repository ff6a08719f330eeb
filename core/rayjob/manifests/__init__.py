"""Builds the objects of a RayJob: RayCluster, submitter Job, Services."""
