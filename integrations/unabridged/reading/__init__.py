"""Reading: walkers, the judge, budgets and the drivers. No HTTP client is imported until one is needed."""

from .api import apages, aread, pages, read
from .query import Budget, Query
from .records import reference_of
from .resume import Resume
from .run import run_read
from .transport import AsyncTransport, Clock, Fault, Request, Response, SystemClock, Transport
from .value import judge_value

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
    "judge_value",
    "pages",
    "read",
    "reference_of",
    "run_read",
]
