"""Parameters that a real robot can have, by cone programs."""
