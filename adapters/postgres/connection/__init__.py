"""How the service and the commands reach Postgres, and what its errors mean."""
