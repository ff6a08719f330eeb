"""Hours of churn with replicas, Postgres and the API server dying: does anything grow or leak?"""
