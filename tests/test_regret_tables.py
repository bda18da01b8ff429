"""The tables of the regret study's page: what the script reads, and that every table has its place."""

import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parent.parent / "docs" / "scripts"


@pytest.fixture(scope="module")
def script():
    """The script that makes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        patch.delitem(sys.modules, "study_tables", raising=False)
        spec = importlib.util.spec_from_file_location("regret_tables", SCRIPTS / "regret_tables.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def told(cohort, *gains):
    """What `maestro study` writes of best responses to a cohort's students."""
    share = {"won": 0.5, "drawn": 0.25, "lost": 0.25}
    return [{"cohort": cohort, "seed": i, "gain": gain, "response": share} for i, gain in enumerate(gains)]


def test_best_responses_of_a_study_are_read_as_those_of_single_commands(script, tmp_path):
    (tmp_path / "exploit").mkdir()
    earned = {"response": {"won": 1.0, "drawn": 0.0, "lost": 0.0, "return_by_seed": [0.5, 0.25]}}
    one = {**earned, "agent_against_itself": {"return_by_seed": [0.0, 0.25]}, "gain": 0.25, "gain_95": [0, 1]}
    (tmp_path / "exploit" / "single.json").write_text(json.dumps({"exploitability": {"x": one}}))
    listed = told("two", 0.1, 0.3) + told("three", 0.5)[:1] * 3
    (tmp_path / "exploit" / "exploit.json").write_text(json.dumps(listed))
    found = script.responses(tmp_path)
    assert set(found) == {"single", "two", "three"}
    np.testing.assert_allclose(found["single"][1], [0.5, 0.0])
    np.testing.assert_allclose(found["two"][1], [0.1, 0.3])
    assert found["two"][0]["gain"] == pytest.approx(0.2) and found["three"][0]["gain_95"] == [0.5, 0.5]
    low, high = found["two"][0]["gain_95"]
    assert (high - low) / 2 == pytest.approx(12.706204736 * 0.1)
    rows = script.exploited(tmp_path).splitlines()
    assert rows[2] == "| `two` | +.200 | -1.071 to +1.471 | .50 / .25 / .25 | +.10 +.30 |"


def test_a_table_without_its_source_stays_as_it_is_and_is_named(script, tmp_path, capsys):
    makers = [script.of_pieces, *script.MAKERS.values()]
    for make in makers:
        assert script.made(make(tmp_path, [])) == {}
        names = [line.split(": as it was")[0] for line in capsys.readouterr().out.splitlines()]
        assert names == list(make(tmp_path, []))


def test_every_table_has_one_place_on_the_page(script, tmp_path):
    for make in (script.of_pieces, *script.MAKERS.values()):
        names = list(make(tmp_path, []))
        filled = script.study_tables.filled(script.text(), dict.fromkeys(names, "NEW"))
        assert filled.count("\n\nNEW\n\n") == len(names)


def test_the_overview_is_of_the_tables_of_the_page_and_has_every_cohort_that_it_explains(script):
    page = script.text()
    assert script.study_tables.filled(page, {"overview": script.overview(page)}) == page
    found, ranks = script.on_page(page, "overview"), script.on_page(page, "rank correlation")
    assert len(found) == 22 and found["`learn-plr`"]["gain"] == "-"
    for cohort, row in ranks.items():
        assert found[cohort]["true regret / rank"].endswith(f" / {row['stored']} c")
    hunter = script.on_page(page, "hunter")["`maestro`"]
    assert found["`maestro`"]["hunter"] == f"{hunter['return']} ({hunter['95 % interval']}) b"


def test_cohorts_that_are_not_measured_anew_keep_their_rows(script):
    page = "<!-- t: made by x -->\n\n{}\n\n<!-- end of t -->"
    head = ["cohort", "opponent", "return"]
    old = [["`a`", "turret", "+.300"], ["`b`", "turret", "**+.100 (.000 to +.200)**"], ["`b`", "wall", "-.5"]]
    new = [["`a`", "turret", "+.050"], ["`a`", "wall", "-.600"], ["`c`", "turret", "+.200"]]
    page, new = page.format(script.lines(head, *old)), script.lines(head, *new)
    falling = [" ".join(row[:2]) for row in script.amid(page, "t", new, "-return")]
    assert falling == ["cohort opponent", "`c` turret", "`b` turret", "`a` turret", "`b` wall", "`a` wall"]
    assert script.amid(page, "t", new, "return")[1:] == [
        ["`a`", "turret", "+.050"],
        ["`b`", "turret", "**+.100 (.000 to +.200)**"],
        ["`c`", "turret", "+.200"],
        ["`a`", "wall", "-.600"],
        ["`b`", "wall", "-.5"],
    ]
    assert script.on_page(page.format(""), "u") == {}


def test_the_tables_of_half_the_length_are_made_amid_those_of_the_page(script, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    gain = script.lines(["cohort", "gain"], ["`kept`", "+.700"], ["`again`", "+.100"])
    page.write_text(f"<!-- half exploited: made by x -->\n\n{gain}\n\n<!-- end of half exploited -->")
    monkeypatch.setattr(script, "PAGES", [page])
    monkeypatch.setattr(script, "exploited", lambda _: script.lines(["cohort", "gain"], ["`again`", "+.900"]))
    _, make = script.of_half(tmp_path, [])["half exploited"]
    assert make().splitlines()[2:] == ["| `kept` | +.700 |", "| `again` | +.900 |"]


def test_tables_are_written_where_their_places_are(script, tmp_path, monkeypatch):
    place = "<!-- {}: made by docs/scripts/regret_tables.py -->\n\n{}\n\n<!-- end of {} -->"
    pages = [tmp_path / "one.md", tmp_path / "two.md"]
    for page, name in zip(pages, ("a", "b"), strict=True):
        page.write_text(place.format(name, "old", name))
    monkeypatch.setattr(script, "PAGES", pages)
    script.fill({"b": "new"})
    assert script.text() == "\n".join([place.format("a", "old", "a"), place.format("b", "new", "b")])
    with pytest.raises(SystemExit, match="no page has a place for c"):
        script.fill({"b": "newer", "c": "lost"})
    assert "newer" not in script.text()


def test_after_half_the_length_every_cohort_of_the_study_is_in_every_table(script):
    study = tomllib.loads((SCRIPTS.parent.parent / "studies" / "regret_500.toml").read_text())
    cohorts = {name for one in study["cohort"] for name in one.get("methods", [one.get("name")])}
    page = script.text()
    for name in script.HALF:
        assert {row.strip("`") for row in script.on_page(page, name)} == cohorts
