"""Rules of settings: a section a passage, verbatim, under the keys that lead to it."""

from __future__ import annotations

import json

import pytest

from tests.document_builders import places, read

LONG = "a value that is long enough to be a section of its own"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.toml", f'[tool.ruff]\nx = """\n[not.one]\n{LONG}\n"""\nlist = [\n  [1, 2],\n]\n[[deps]]\ny = "{LONG}"\n'),
        ("a.ini", f"[tool.ruff]\nx = {LONG}\n\n[deps]\ny = {LONG}\n"),
        ("a.yaml", f"# top\ntool.ruff:\n  x: '{LONG}'\ndeps:\n  - &a {LONG}\n"),
        ("a.json", f'{{\n  // why\n  "tool.ruff": {{"x": "{LONG} : [ {{"}},\n  "deps": ["{LONG}"]\n}}\n'),
    ],
)  # fmt: skip
def test_settings_are_read_a_section_at_a_time_and_verbatim(path, text):
    found = read(path, text, chunk_size=160).records
    assert [r.metadata["place"] for r in found] == [f"{path} › tool.ruff", f"{path} › deps"]
    for record in found:
        assert text[record.metadata["start"] : record.metadata["end"]] == record.text
        assert record.metadata["kind"] == "settings"


def test_a_section_that_is_too_long_is_cut_by_what_it_holds():
    jobs = "".join(f"  job{n}:\n    run: {LONG}\n    if: {LONG}\n" for n in range(3))
    assert places("ci.yml", f"name: ci\njobs:\n{jobs}", chunk_size=200) == [
        "ci.yml › name",
        "ci.yml › jobs › job0",
        "ci.yml › jobs › job1",
        "ci.yml › jobs › job2",
    ]


def test_an_item_of_a_list_goes_by_its_name():
    steps = "".join(f"  - name: Step {n}\n    run: {LONG}\n    if: {LONG}\n" for n in range(2))
    assert places("ci.yml", f"steps:\n{steps}", chunk_size=160) == [
        "ci.yml › steps › Step 0",
        "ci.yml › steps › Step 1",
    ]


def test_small_settings_go_together():
    text = json.dumps({"name": "a", "version": "1.0", "private": True, "scripts": {"test": LONG}}, indent=1)
    assert places("package.json", text, chunk_size=200) == ["package.json:1-4", "package.json › scripts"]


@pytest.mark.parametrize(
    "text",
    [
        "a: {{ .Values.x }}\n{{- if .y }}\nb: 1\n{{- end }}\n",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "a: !!python/object/apply:os.system ['true']\n",
        "a: 1\n---\nb: 2\n",
        "a: " + "[\n" * 5000,
        "\t- a: b: c",
    ],
)
def test_yaml_that_is_a_template_or_a_trap_is_text_all_the_same(text):
    found = read("a.yaml", text).records
    assert "".join(found[0].text.split()).startswith("".join(text.split())[:200])


# In each the second setting has a comment that names it, and the first ends with what is its own.
WRITTEN = {
    "a.yml": f"first:\n  text: |\n    {LONG}\n    # of the first\n# of the second\nsecond:\n  text: {LONG}\n",
    "a.toml": f"[first]\na = '{LONG}'\n# of_the = 'first'\n# of the second\n[second]\na = '{LONG}'\n",
    "a.ini": f"[first]\na = {LONG}\n;of.the = first\n### of the second ###\n[second]\na = {LONG}\n",
    "a.json": f'{{\n"first": "{LONG}",\n// of the second\n"second": "{LONG}"\n}}\n',
}


@pytest.mark.parametrize("path", list(WRITTEN))
def test_a_comment_belongs_to_the_setting_below_it(path):
    records = read(path, WRITTEN[path].encode(), chunk_size=320).records
    (second,) = (record.text for record in records if "of the second" in record.text)
    assert "second" in second.replace("of the second", "")
    assert "first" not in second
