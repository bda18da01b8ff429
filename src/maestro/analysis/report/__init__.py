"""One page that explains what is in some folders: `collect` its data, then make the `page`."""

from maestro.analysis.report.collecting import Choice, collect
from maestro.analysis.report.join import page
from maestro.analysis.report.numbers import to_json
from maestro.analysis.report.writing import write

__all__ = ["Choice", "collect", "page", "to_json", "write"]
