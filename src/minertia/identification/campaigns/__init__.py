"""The campaign file: everything an identification needs, in one place."""
