"""Physically consistent parameters, by cone programs."""
