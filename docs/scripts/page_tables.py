"""Tables as they stand on a page: reading them, and making some of their rows anew."""


def on_page(page, name):
    """{cohort: {head: cell}} of a table of a page; nothing where its place is empty."""
    head, *rows = standing(page, name) or [[]]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def standing(page, name):
    """The rows of a table of a page, the first its head."""
    begin, end = (mark.format(name) for mark in ("<!-- {}: made by", "<!-- end of {} -->"))
    return cells(page.partition(begin)[2].partition(end)[0])


def cells(text):
    """The rows of a table, the first its head."""
    rows = [
        [x.strip() for x in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("|")
    ]
    return rows[:1] + rows[2:]


def amid(page, name, text, order):
    """The rows of a new table amid those of other cohorts on the page.

    `order` is the head of a column whose numbers rise, or fall with a minus before it.
    """
    head, *new = cells(text)
    kept = [row for row in standing(page, name)[1:] if row[0] not in {other[0] for other in new}]
    column, sign = head.index(order.removeprefix("-")), -1 if order.startswith("-") else 1

    def place(row):
        opponent = row[head.index("opponent")] if "opponent" in head else ""
        return opponent, sign * float(row[column].strip("*").partition(" ")[0])

    return [head, *sorted([*new, *kept], key=place)]
