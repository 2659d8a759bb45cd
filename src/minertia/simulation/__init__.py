"""The model put to the test: a robot in an independent physics engine, and control with what was identified."""
