"""The recursion, written once, and what follows from it; runs on floats, batches and expressions."""
