"""The rules of a Job, and the effects and decisions that its state calls for."""
