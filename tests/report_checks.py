"""What the data of a report must be like: every clause of its form, as a list of what is wrong."""

import json
import math
import re

NAMES = {"wall", "floor", "grass", "road", "edge", "seat0", "seat1", "bolt0", "bolt1", "ink"}
HEAD = {"title": str, "made": str, "version": str, "game": str, "live": bool, "question": str}
LISTS = ("answer", "tables", "figures", "scenes", "games", "runs", "landscapes", "crossplays")


def is_number(value, null=True):
    """Whether it is a finite number, or null."""
    return (value is None and null) or (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    )


def is_color(value):
    return value in NAMES or bool(re.fullmatch(r"#[0-9a-f]{6}", value))


def shaped(rows, height, width):
    """Whether rows are a matrix of numbers."""
    return len(rows) == height and all(len(row) == width and all(map(is_number, row)) for row in rows)


def problems(data):
    """All that is wrong with the data of a page."""
    json.dumps(data, allow_nan=False)
    found = [name for name, kind in HEAD.items() if type(data.get(name)) is not kind]
    found += [name for name in LISTS if type(data.get(name)) is not list]
    found += ["format"] * (data.get("format") != 1)
    found += ["seats"] * (len(data["seats"]) != 2 or not all(map(is_color, data["seat_colors"])))
    found += ["answer"] * (not all(isinstance(line, str) for line in data["answer"]))
    parts = {"tables": table, "figures": figure, "scenes": scene, "games": game, "runs": run}
    parts |= {"landscapes": landscape, "crossplays": crossplay}
    for name, check in parts.items():
        for i, part in enumerate(data[name]):
            found += [f"{name}[{i}].{what}" for what in check(part, data)]
    return found + (play(data["play"]) if data["play"] is not None else [])


def points_to(value, things, null=False):
    return (value is None and null) or (type(value) is int and 0 <= value < len(things))


def table(part, data):
    if not all(isinstance(part[name], str) for name in ("title", "note")):
        yield "texts"
    for row in part["rows"]:
        if len(row) != len(part["columns"]):
            yield "columns"
        if not all(isinstance(cell, str) or is_number(cell) for cell in row):
            yield "rows"


def figure(part, data):
    if not re.match(r"data:image/(png|svg\+xml);base64,[A-Za-z0-9+/=]+$", part["image"]):
        yield "image"
    if not all(isinstance(part[name], str) for name in ("name", "title", "about")):
        yield "texts"


SIZES = {"rects": 4, "polygon": 2, "line": 2, "circle": 3}


def shape(part):
    if len(part["at"]) % SIZES[part["kind"]] or not all(is_number(x, False) for x in part["at"]):
        yield "at"
    if not is_color(part["color"]):
        yield "color"
    if part["kind"] == "line" and not is_number(part.get("width", 0.1), False):
        yield "width"


def bodies_of(part, data):
    own = part["bodies"]
    return data["scenes"][own["same"]]["bodies"] if isinstance(own, dict) else own


def frame(numbers, kinds):
    """Whether flat numbers are bodies of known kinds."""
    each = [numbers[i : i + 4] for i in range(0, len(numbers), 4)]
    return all(len(body) == 4 and all(map(is_number, body)) and points_to(body[0], kinds) for body in each)


def scene(part, data):
    if not all(is_number(x, False) for x in part["size"]) or not isinstance(part["label"], str):
        yield "size"
    if not is_color(part["ground"]):
        yield "ground"
    kinds = bodies_of(part, data)
    if not isinstance(kinds, list):
        yield "bodies"
        return
    for one in [*part["shapes"], *(x for kind in kinds for x in kind)]:
        yield from shape(one)
    if not frame(part["start"], kinds):
        yield "start"


def game(part, data):
    if part["text"] is None and not points_to(part["scene"], data["scenes"]):
        yield "scene"
        return
    if part["result"] not in ("a", "b", "draw") or len(part["names"]) != 2:
        yield "result"
    if not all(isinstance(part[name], str) for name in ("level", "told")):
        yield "texts"
    if part["text"] is None and not all(
        frame(one, bodies_of(data["scenes"][part["scene"]], data)) for one in part["frames"]
    ):
        yield "frames"
    states = part["frames"] if part["text"] is None else part["text"]
    if not states:
        yield "states"
    if part["values"] is not None and not shaped(part["values"], len(states) - 1, 2):
        yield "values"


def run(part, data):
    seeds = len(part["seeds"])
    if not all(isinstance(part[name], str) for name in ("label", "name", "method", "folder", "status")):
        yield "texts"
    for curve in part["curves"]:
        if not shaped(curve["y"], seeds, len(curve["x"])):
            yield f"curves {curve['name']}"
    if part["curriculum"] is not None:
        yield from curriculum(part["curriculum"], seeds, data)
    for own in part["members"] or []:
        if [member["slot"] for member in own] != list(range(1, len(own) + 1)):
            yield "members"


def curriculum(part, seeds, data):
    for moment in part["moments"]:
        if len(moment["seeds"]) != seeds or type(moment["updates"]) is not int:
            yield "moments"
        for own in moment["seeds"]:
            yield from served(own, data)
    for one in part["statistics"]:
        if not shaped(one["y"], seeds, len(part["moments"])):
            yield f"statistics {one['name']}"


def served(own, data):
    if not len(own["weights"]) == len(own["win_rate"]) == own["members"] + 1:
        yield "weights"
    if not shaped(own["scores"], len(own["fill"]), 9):
        yield "scores"
    for level in own["levels"]:
        if not points_to(level["scene"], data["scenes"]) or not is_number(level["score"]):
            yield "levels"
        if type(level["replayed"]) is not bool or not 0 <= level["coplayer"] <= own["members"]:
            yield "coplayer"


def landscape(part, data):
    size = len(part["members"]), len(part["levels"])
    if not shaped(part["regret"], *size) or not shaped(part["episodes"], *size):
        yield "regret"
    if not all(points_to(level, data["scenes"]) for level in part["levels"]):
        yield "levels"
    for mark in ("joint", "independent"):
        if part[mark] is not None and not (part[mark][0] < size[0] and part[mark][1] < size[1]):
            yield mark
    if not all(points_to(place, data["games"], True) for row in part["games"] for place in row):
        yield "games"


def crossplay(part, data):
    size = len(part["rows"]), len(part["columns"])
    for name in ("mean", "low", "high", "games"):
        if not shaped(part[name], *size):
            yield name
    if not all(points_to(place, data["games"], True) for row in part["games"] for place in row):
        yield "games"


def play(part):
    found = ["play.agents"] * (not 1 <= len(part["agents"]) <= 3)
    for agent in part["agents"]:
        for name, array in agent["arrays"].items():
            size = 2 * math.prod(array["shape"])
            found += [f"play {name}"] * (len(array["f16"]) != 4 * -(-size // 3))
    return found + [f"play {level['name']}" for level in part["levels"] if not isinstance(level["text"], str)]
