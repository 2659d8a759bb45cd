"""Base parameters: what of a robot's inertia its joint efforts can show."""
