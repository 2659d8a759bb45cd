"""Geometric calibration: corrections of frames and joints from measurements of the tool."""
