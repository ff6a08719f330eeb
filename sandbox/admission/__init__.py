"""What the sandbox insists on before an object is stored."""
