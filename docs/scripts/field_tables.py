"""For the API pages: the fields of a class as one table, with what stands below or beside each."""

import re
from typing import Any

from griffe import Extension

COMMENT = re.compile(r"#\s*(?!type:|noqa|fmt:)(.+?)\s*$")


def description(field: Any) -> str:
    """The docstring of a field, or the comment at its end."""
    if field.docstring is not None:
        return " ".join(field.docstring.value.split())
    found = COMMENT.search(field.lines_collection[field.filepath][field.endlineno - 1])
    return found[1] if found else "\N{NO-BREAK SPACE}"


class FieldTables(Extension):
    """Fields become the section of attributes of their class."""

    def on_class_members(self, *, cls: Any, **_: Any) -> None:
        """Move what is said of each field into the docstring of its class."""
        known = [x for x in cls.attributes.values() if x.annotation is not None]
        fields = [x for x in known if not x.name.startswith("_") and "property" not in x.labels]
        if cls.docstring is None or not fields:
            return
        lines = [f"    {field.name}: {description(field)}" for field in fields]
        cls.docstring.value = "\n".join([cls.docstring.value.rstrip(), "", "Attributes:", *lines])
        for field in fields:
            field.docstring = None
