"""What follows from the state by itself, and which effects and decisions it calls for."""
