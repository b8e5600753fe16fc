"""Reading: walkers, the judge, budgets and the drivers. No HTTP client is imported until one is needed."""

from .api import apages, aread, pages, read
from .query import Budget, Query
from .resume import Resume
from .run import run_read
from .transport import AsyncTransport, Clock, Fault, Request, Response, SystemClock, Transport

__all__ = [
    "AsyncTransport",
    "Budget",
    "Clock",
    "Fault",
    "Query",
    "Request",
    "Response",
    "Resume",
    "SystemClock",
    "Transport",
    "apages",
    "aread",
    "pages",
    "read",
    "run_read",
]
