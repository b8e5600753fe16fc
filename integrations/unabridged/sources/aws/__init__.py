"""AWS through clients of boto3. Install `unabridged[aws]`.

botocore's pagination data leads the walk; whether that was all is judged here, page by page.
"""

import importlib.util

from unabridged.contract.errors import MissingExtra

if importlib.util.find_spec("boto3") is None or importlib.util.find_spec("botocore") is None:
    raise MissingExtra(extra="aws", module="boto3")

from .api import read_aws
from .paging import AwsWalk

__all__ = ["AwsWalk", "read_aws"]
