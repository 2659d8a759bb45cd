"""Identification from measured joint efforts."""
