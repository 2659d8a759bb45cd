"""From measured motion to a dynamic model one can trust."""
