"""`unabridged read`: a read that is saved as it arrives, and that a killed run leaves whole and honest."""

from .credentials import Secrets, gather_headers
from .progress import Progress
from .run import Saved, save
from .start import SaveJob

__all__ = ["Progress", "SaveJob", "Saved", "Secrets", "gather_headers", "save"]
