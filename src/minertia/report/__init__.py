"""Human-readable results: tables, sentences and self-contained HTML pages."""

from minertia.io.names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
