"""Programs as text for others: C and what goes around it, NumPy, MATLAB, FMU, ROS 2."""
