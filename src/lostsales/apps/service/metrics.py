"""Metrics for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # buckets of the latency histogram
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counters of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("lostsales_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "lostsales_request_seconds", "Time of an answer.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.rows = Counter("lostsales_rows_decided", "Rows that were decided for.", registry=self.registry)
        self.decisions = Counter(
            "lostsales_decisions", "Decisions of people stored.", ("status",), registry=self.registry
        )
        self.activations = Counter("lostsales_activations", "Versions activated.", registry=self.registry)
        self.active = Gauge("lostsales_policy_active", "The active version.", ("version",), registry=self.registry)
        self.products = Gauge("lostsales_products", "Products of today's list.", registry=self.registry)
        self.exceptions = Gauge("lostsales_exceptions", "Flagged products of the list.", registry=self.registry)
        self.left_out = Gauge(
            "lostsales_products_left_out", "Products without a decision: bad rows.", registry=self.registry
        )
        self.refused = Gauge(
            "lostsales_import_refused", "1 while newer data are refused and older ones shown.", registry=self.registry
        )
        self.waiting = Gauge("lostsales_requests_waiting", "Requests without an answer yet.", registry=self.registry)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(method if method in METHODS else "other", route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def activated(self, version: str, products: int, exceptions: int, left_out: int) -> None:
        """Record the active version."""
        self.active.clear()
        self.active.labels(version).set(1)
        self.products.set(products)
        self.exceptions.set(exceptions)
        self.left_out.set(left_out)

    def text(self) -> bytes:
        """Metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
