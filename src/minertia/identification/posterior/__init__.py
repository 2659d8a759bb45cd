"""Robots drawn from the posterior of an identification: density, draws, files of samples, bands."""
