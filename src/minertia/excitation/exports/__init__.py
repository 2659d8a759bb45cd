"""Files of motions for controllers."""
