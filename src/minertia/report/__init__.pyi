"""Pages of results."""

from minertia.report.show import ResultPage

__all__ = [
    "ResultPage",
]
