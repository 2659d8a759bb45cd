"""Target languages: C and its build files, NumPy, MATLAB, FMU, ROS 2."""
