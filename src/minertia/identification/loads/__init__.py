"""Payloads: known, unknown, or used to calibrate the drive gains."""
