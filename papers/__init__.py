"""The five papers behind minertia, reproduced: `make papers` writes docs/papers/, one page per paper."""
