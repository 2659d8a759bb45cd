"""Running trajectories on robots: drivers, run-time monitoring, speed stages, and logs."""
