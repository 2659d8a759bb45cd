"""MuJoCo's MJCF, read through MuJoCo and written."""
