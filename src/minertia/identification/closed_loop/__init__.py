"""Identification without measured efforts: from commands and positions through the joints' position loops."""
