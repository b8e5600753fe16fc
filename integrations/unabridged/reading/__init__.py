"""Reading: walkers, the judge, budgets and the drivers. Nothing here imports an HTTP client until one is needed."""

from .query import Budget, Query
from .transport import AsyncTransport, Clock, Fault, Request, Response, SystemClock, Transport

__all__ = [
    "AsyncTransport",
    "Budget",
    "Clock",
    "Fault",
    "Query",
    "Request",
    "Response",
    "SystemClock",
    "Transport",
]
