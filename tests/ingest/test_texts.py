"""Rules of formats that are text: Markdown, changelogs, settings, and formats with headings of their own."""

from __future__ import annotations

import re

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.utils import new_document

from langchain_context_engine.ingest.readers.markup import titled_lines
from tests.document_builders import read, records, text, texts, trails


def test_a_line_that_begins_with_inline_code_of_three_backticks_opens_no_fence():
    """F3."""
    text = "# A\n\n```npm ci``` installs everything.\n\n## B\n\nx\n\n## C\n\ny\n"
    assert trails("a.md", text) == ["A", "A › B", "A › C"]


def test_a_comment_holds_no_heading():
    """F4."""
    assert trails("a.md", "# A\n\n<!--\n# no\n-->\n\n## B\n\nx\n") == ["A", "A › B"]


def test_a_heading_without_text_belongs_to_the_next_of_its_level_else_to_what_precedes_it():
    written = "# A\n\n## get()\n## post()\n## put()\n\nSends it.\n\n## Notes\n\n# B\n\nx\n\n## Last\n"
    assert trails("a.md", written) == ["A › put()", "B"]
    first, second = texts("a.md", written)
    assert first == "# A\n\n## get()\n## post()\n## put()\n\nSends it.\n\n## Notes"
    assert second == "# B\n\nx\n\n## Last"


@pytest.mark.parametrize("heading", ["## 1.1.0", "## 1.1.0 (2026-05-01)", "## Unreleased"])
def test_a_release_without_text_is_no_part_of_another(heading):
    written = f"# Log\n\n## 1.2.0\n\n- a\n\n{heading}\n\n## 1.0.0\n\n- b\n\n{heading}\n"
    assert [said.count("## ") for said in texts("CHANGELOG.md", written)] == [1, 1, 1, 1]


def test_a_heading_with_nothing_below_it_is_no_part_of_the_next_section():
    assert trails("a.md", "# A\n\n## To come\n\n## 1.0\n\nx\n") == ["A › To come", "A › 1.0"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Guide\n===\n\nx\n\nPart\n---\n\ny\n", ["Guide", "Guide › Part"]),
        ("# A `b` [c](d) *e* #\n\nx\n", ["A b c e"]),
        ("# A\n\n---\n| b | c |\n|---|---|\n| d | e |\n---\n\nx\n", ["A"]),
        ("> # quoted\n\n- # listed\n\n    # code\n\ntext\n", [None]),
        ("~~~\n# no\n```\n# no\n~~~\n# yes\n\nx\n", [None, "yes"]),
        ('<h1 align="center">\n  <b>Tool</b>\n</h1>\n\nx\n\n## Use\n\ny\n', ["Tool", "Tool › Use"]),
        ("## Install {#install}\n\nx\n", ["Install"]),
        ("## Install {/* #install */}\n\nx\n", ["Install"]),
        ("## Install [#install]\n\nx\n\n## [#5] and [6]\n\ny\n", ["Install", "[#5] and [6]"]),
        ("#no\n\n####### no\n\nx\n", [None]),
    ],
)
def test_headings_are_those_of_commonmark(text, expected):
    assert trails("a.md", text) == expected


def test_front_matter_gives_title_and_date():
    found = read("post.md", '---\ntitle: "On dates"\ndate: 2024-05-01\ntags: [a]\n---\n\nHello.\n').records[0]
    assert (found.metadata["title"], found.metadata["created_at"]) == ("On dates", 1714521600)


def test_front_matter_and_labels_alone_are_no_passages():
    """Seen: 67 records of a manual were `.. _label:`."""
    assert trails("a.md", "---\ntitle: T\n---\n\n# A\n\nx\n") == ["A"]
    assert trails("a.rst", ".. _a:\n\nA\n=\n\nx\n\n.. _b:\n\nB\n=\n\ny\n") == ["A", "B"]
    assert trails("a.rst", ".. _a:\n\nWords.\n\nA\n=\n\nx\n") == [None, "A"]


def test_a_heading_with_links_by_reference_is_told_by_its_words():
    text = b"# UTF-8 ([Java][ExploreCharsets]/[Kotlin][]) `a[b][c]`\n\nx\n\n# The ([Java][A])\n\ny\n"
    titles = [r.metadata["title"] for r in read("a.md", text).records]
    assert titles[1] == "The (Java)"


MDX = """import Tabs from '@theme/Tabs'

export const meta = {
  title: "# none",
}

{/* # A comment
that goes on */}

## Installing

<Tabs>
<Tab value="npm">
```sh
# no heading
npm i
```
</Tab>
  <Tab>
    ### With pnpm

    Words.
  </Tab>
</Tabs>

## Error precedence

<Callout
  type="warn"
>
Careful.
</Callout>

### Last

Words.
"""


def test_in_mdx_components_comments_and_modules_hide_no_heading_and_make_none():
    assert trails("a.mdx", MDX) == [
        None,
        "Installing",
        "Installing › With pnpm",
        "Error precedence",
        "Error precedence › Last",
    ]
    assert "".join(record.text for record in read("a.mdx", MDX).records).count("npm i\n") == 1


def test_sections_of_a_changelog_have_version_and_date_of_their_own_heading():
    text = (
        "# Changelog\n\nAll changes.\n\n## Unreleased\n\n- soon\n\n## 0.13.0 (2026-08-04)\n\n"
        "### Removed\n\n- old\n\n## v1.2 - 4 August 2026\n\n- x\n\n## 1.1.0\n\n- y\n"
    )
    found = [
        (r.metadata["place"], r.metadata.get("version"), r.metadata["created_at"])
        for r in read("CHANGELOG.md", text).records
    ]
    assert found == [
        ("CHANGELOG.md:1-3", None, 7),
        ("CHANGELOG.md › Unreleased", None, 7),
        ("CHANGELOG.md › 0.13.0 (2026-08-04) › Removed", "0.13.0", 1785801600),
        ("CHANGELOG.md › v1.2 - 4 August 2026", "1.2", 1785801600),
        ("CHANGELOG.md › 1.1.0", "1.1.0", 1785801600),
    ]
    assert "version" not in read("guide.md", "## 1.2 Install\n\nx\n").records[0].metadata


def test_a_release_without_a_date_is_no_newer_than_the_one_above_it_and_one_to_come_is_told():
    """Seen 2: an old release without a readable date took that of the file, and was the latest of all."""
    text = (
        "# Changes\n\n## Version 8.5.0\n\nUnreleased\n\n- soon\n\n## Version 8.4.0\n\nReleased 2026-06-24\n\n- now\n\n"
        '## Version 6.0\n\nReleased 2015-11-24, codename "pow pow"\n\n- then\n\n## Version 5.1\n\n- undated\n\n'
        "## Version 5.0\n\nReleased on August 16th 2015\n\n- x\n"
    )
    found = [
        (r.metadata.get("version"), r.metadata["created_at"], r.metadata.get("unreleased"))
        for r in read("CHANGES.md", text.encode(), metadata={"created_at": 1_790_000_000}).records
        if r.metadata.get("version")
    ]
    assert found == [
        ("8.5.0", 1_790_000_000, True),
        ("8.4.0", 1_782_259_200, None),
        ("6.0", 1_448_323_200, None),
        ("5.1", 1_448_323_200, None),
        ("5.0", 1_439_683_200, None),
    ]


def test_a_smaller_release_is_no_part_of_the_larger_one_above_it():
    """Tools write `##` for a feature release and `###` for a fix: its fixes bore the other one's version."""
    text = (
        "# Changelog\n\n## [3.15.0](https://x.example) (2022-09-25)\n\n### Features\n\n* Add berths.\n\n"
        "### [3.14.2](https://x.example) (2022-06-20)\n\n### Bug Fixes\n\n* Mend the crane.\n"
    )
    (fix,) = (record for record in records("CHANGELOG.md", text) if "crane" in record.text)
    assert fix.metadata["version"] == "3.14.2"
    assert fix.metadata["place"] == "CHANGELOG.md › 3.14.2 (2022-06-20) › Bug Fixes"
    assert "3.14.2" not in "".join(r.text for r in records("CHANGELOG.md", text) if "berths" in r.text)


@pytest.mark.parametrize("path", ["Changes", "CHANGES.txt", "History.txt"])
def test_a_changelog_of_lines_has_a_record_for_each_release(path):
    """As CPAN specifies them: several releases were one record without a version."""
    text = (
        "Revision history of Harbour\n\n9.49  UNRELEASED\n  - Paint it.\n\n9.48  2026-07-14\n  - Mend the crane.\n\n"
        "v9.47 - July 5, 2026\n  - Add berths.\n"
    )
    told = {r.metadata.get("version"): r for r in records(path, text)}
    assert list(told) == [None, "9.49", "9.48", "9.47"]
    assert told["9.48"].text == "9.48  2026-07-14\n  - Mend the crane."
    assert told["9.47"].metadata["created_at"] < told["9.48"].metadata["created_at"]
    assert told["9.49"].metadata.get("unreleased") is True


GNU = (
    "2024-01-02  Ana Ruiz  <ana@x.example>\n\n\t* src/tide.c (tide_at): Take the moon into account.\n\n"
    "2023-12-30  Bo Berg  <bo@x.example>\n\n\t* NEWS: Mention it.\n"
)


@pytest.mark.parametrize("path", ["ChangeLog", "lib/ChangeLog-2023", "ChangeLog.1", "changelog.txt"])
def test_each_entry_of_a_gnu_changelog_is_a_record_with_its_author_and_date(path):
    found = read(path, GNU).records
    assert [(r.metadata["place"], r.metadata["author"], r.metadata["created_at"]) for r in found] == [
        (f"{path} › 2024-01-02, Ana Ruiz", "Ana Ruiz", 1704153600),
        (f"{path} › 2023-12-30, Bo Berg", "Bo Berg", 1703894400),
    ]
    assert found[1].text.endswith("* NEWS: Mention it.")


def test_the_older_form_and_debians_are_read_too():
    old = read("ChangeLog", "Tue Jan  2 10:11:12 1996  Ana Ruiz  (ana@x.example)\n\n\t* a.c: New.\n").records
    assert (old[0].metadata["place"], old[0].metadata["created_at"]) == (
        "ChangeLog › Jan 2 1996, Ana Ruiz",
        820540800,
    )
    debian = (
        "tides (1.2-1) unstable; urgency=medium\n\n  * New release of tides.\n\n"
        " -- Ana Ruiz <ana@x.example>  Tue, 02 Jan 2024 10:00:00 +0100\n"
    )
    (found,) = read("debian/changelog", debian).records
    assert (found.metadata["place"], found.metadata["version"], found.metadata["created_at"]) == (
        "debian/changelog › tides (1.2-1) unstable",
        "1.2",
        1704153600,
    )


LONG = "a value that is long enough to be a section of its own"


@pytest.mark.parametrize(
    ("path", "block"),
    [
        ("a.toml", "[tool.part{n}]\nx = '{long}'\ny = [\n  1,\n]\n\n"),
        ("a.yaml", "part{n}:\n  x: '{long}'\n  y:\n    - 1\n"),
        ("a.json", ' "part{n}": {{\n  "x": "{long}",\n  "y": [\n   1\n  ]\n }},\n'),
    ],
)
def test_settings_are_verbatim_and_cut_where_least_is_open(path, block):
    text = "".join(block.format(n=n, long=LONG) for n in range(9))
    found = read(path, text, chunk_size=250).records
    assert len(found) > 2
    for record in found:
        assert text[record.metadata["start"] : record.metadata["end"]] == record.text
        assert record.text.lstrip('[ "').startswith(("part", "tool.part"))
        assert record.metadata["kind"] == "settings"
        assert re.fullmatch(rf"{path}:\d+-\d+", record.metadata["place"])


def docutils_titles(text):
    values = get_default_settings(Parser)
    values.report_level, values.halt_level, values.warning_stream = 5, 6, False
    document = new_document("x", values)
    Parser().parse(text, document)
    return [node[0].astext() for node in document.findall(nodes.section)]


@pytest.mark.parametrize(
    "text",
    [
        "=====\nGuide\n=====\n\nx\n\nPart\n----\n\ny\n\nDeep\n~~~~\n\nz\n\nLast\n----\n\nq\n",
        "Title\n=====\n.. note:: x\n\n   Inside\n   ------\n\nText::\n\n   Code\n   ====\n\nEnd\n===\n",
        "A\n==\nB\n--\n\nx\n",
        "=====  =====\ncol    col\n=====  =====\n1      2\n=====  =====\n\nTitle\n-----\n",
        "Text\n----\n\n----\n\nmore\n",
        "The ``tide`` of `Dover <https://dover.org>`__\n==========================================\n\nx\n",
    ],
)
def test_titles_of_restructured_text_are_those_that_docutils_finds(text):
    assert [h.title for h in titled_lines(text)] == docutils_titles(text)


def test_what_restructured_text_describes_thing_by_thing_is_a_section_each():
    written = (
        "Queue\n=====\n\n.. py:class:: Queue(name='q')\n\n   Holds tasks.\n\n   .. py:method:: push(task)\n\n"
        "      Adds one.\n\n   .. py:method:: pop()\n\n      .. note:: It waits.\n\nAfter all of them.\n"
    )
    assert trails("a.rst", written) == [
        "Queue › Queue",
        "Queue › Queue › push",
        "Queue › Queue › pop",
        "Queue",
    ]
    assert text("a.rst", written).count("It waits.") == 1


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("function:: int uv_queue_work(uv_loop_t* loop)", "uv_queue_work"),
        ("type:: void (*uv_work_cb)(uv_work_t* req)", "uv_work_cb"),
        ("member:: uv_loop_t* uv_work_t.loop", "uv_work_t.loop"),
        ("member:: char name[8]", "name"),
        ("macro:: UV_MAX = 3", "UV_MAX"),
        ("function:: void* find(void (*each)(int))", "find"),
    ],
)
def test_what_is_described_of_c_is_called_by_its_name_without_its_type(declared, name):
    """Seen: 28 sections of one manual were called `void`."""
    assert trails("a.rst", f"Loop\n====\n\n.. c:{declared}\n\n   It says so.\n") == [f"Loop › {name}"]


@pytest.mark.parametrize(
    ("path", "label"),
    [("a.adoc", "[[kinds]]"), ("a.adoc", "[#122]"), ("a.rst", ".. _kinds:"), ("a.md", '<a id="kinds"></a>')],
)
def test_what_names_a_heading_belongs_to_what_stands_below_it(path, label):
    titles = ("First\n=====", "Second\n======") if path == "a.rst" else ("# First", "# Second")
    first, second = texts(path, f"{titles[0]}\n\nIt rains.\n\n{label}\n\n{titles[1]}\n\nIt snows.\n")
    assert label not in first
    assert second.startswith(label)


def test_a_title_of_asciidoc_is_read_without_the_values_that_it_names():
    assert trails("a.adoc", "== 417 Failed {rfc-417} {do-not-use}\n\nx\n\n== {must} log\n\ny\n") == [
        "417 Failed",
        "must log",
    ]


def test_a_long_list_is_cut_between_its_entries():
    entry = "- The {} berth is paid for by the month,\n  in advance, and kept for a year.\n"
    written = "".join(entry.format(number) for number in range(40))
    assert all(each.startswith("- The") for each in texts("a.md", written, chunk_size=300))


def test_nothing_that_restructured_text_names_is_read(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("SECRET")
    text = f"A\n=\n\n.. include:: {secret}\n\n.. raw:: html\n   :file: {secret}\n"
    assert "SECRET" not in "".join(r.text for r in read("a.rst", text).records)


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("a.org", "* Guide\n\nx\n\n#+BEGIN_SRC sh\n* no\n#+END_SRC\n\n** TODO Part  :tag:\n\ny\n"),
        ("a.mediawiki", "= Guide =\n\nx\n\n== Part ==\n\ny\n"),
        ("a.textile", "h1. Guide\n\nx\n\nh2(#part). Part\n\ny\n"),
        (
            "a.texi",
            "@chapter Guide\n\nx\n\n@example\n@section no\n@end example\n\n@section @code{Part}\n\ny\n",
        ),
        ("a.adoc", "= Guide\n\nx\n\n----\n== no\n----\n\n== Part\n\ny\n\n====\nexample\n====\n"),
        ("a.pod", "=head1 Guide\n\nx\n\n=head2 The C<Part>\n\ny\n".replace("The ", "")),
        ("a.tex", "\\chapter{Guide \\label{h}}\nx\n% \\section{no}\n\\section[short]{\\emph{Part}}\ny\n"),
        ("a.typ", "= Guide\n\nx\n\n== Part\n\ny\n"),
    ],
)
def test_headings_of_other_formats_are_the_trail(path, written):
    assert trails(path, written) == ["Guide", "Guide › Part"]


@pytest.mark.parametrize(
    ("path", "opener", "closer", "language"),
    [
        ("a.adoc", "[source,ruby]\n----", "----", "ruby"),
        ("a.adoc", "[,c++,subs=attributes+]\n------", "------", "c++"),
        ("a.adoc", "====\n....", "....\n====", ""),
        ("a.org", "#+BEGIN_SRC sh", "#+END_SRC", "sh"),
        ("a.texi", "@example", "@end example", ""),
        ("a.tex", "\\begin{minted}{python}", "\\end{minted}", "python"),
    ],
)
def test_code_of_other_formats_is_in_the_fences_of_markdown_each_line_where_it_stood(
    path, opener, closer, language
):
    inside = "pour(tea)\n\n== none"
    written = f"First.\n\n{opener}\n{inside}\n{closer}\n\nLast.\n"
    (found,) = records(path, written)
    assert f"```{language}\n{inside}\n```\n" in found.text
    assert found.text.split("\n")[-1] == "Last."
    assert found.metadata["end_line"] == written.count("\n")


def test_a_fence_is_longer_than_those_within_and_marks_below_a_title_are_none():
    written = "Berths\n------\n\nIt rains.\n\n----\n```sh\npour\n```\n----\n\nNever closed:\n\n----\nx\n"
    said = text("a.adoc", written)
    assert "````\n```sh\npour\n```\n````\n" in said
    assert said.startswith("Berths\n------")
    assert said.endswith("----\nx")


MAN = r""".\" Written by hand.
.TH BERTH 1 "2026" "1.0"
.SH NAME
berth \- lets berths
.SH OPTIONS
.TP
\fB\-n\fR, \fB\-\-nights\fR=\fIN\fR
For how many nights\. See
.BR harbour (1)
and "\(lqquays\(rq".
.IP \(bu 2
one
.TS
tab(|);
l l.
\fBquay\fR|T{
north
T}
.TE
.SS "More of it"
Long \fIenough\fR to stand alone.
"""

MDOC = r""".Dd May 1, 2026
.Dt BERTH 1
.Os
.Sh NAME
.Nm berth
.Nd lets berths
.Sh DESCRIPTION
.Nm
lets them.
.It Fl n Ar nights
For how long.
"""


def by_trail(manual):
    return {r.metadata["headings"]: r for r in records("berth.1", manual, chunk_size=200)}


def test_a_manual_is_read_by_its_headings_without_its_commands():
    found = by_trail(MAN)
    assert set(found) == {"NAME", "OPTIONS", "OPTIONS › More of it"}
    assert "berth - lets berths" in found["NAME"].text
    options = found["OPTIONS"].text
    for shown in ("-n, --nights=N", "nights. See", "harbour(1)", 'and "“quays”".', "•", "quay|\nnorth"):
        assert shown in options
    assert "\\" not in options
    assert "tab(" not in options


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (
            ".TP\n.B \\-a\n.TQ\n.B \\-\\-all\nShows all.\n.TP\n\\-b\nNone.",
            "-a, --all: Shows all.\n\n-b: None.",
        ),
        (
            ".HP\n\\-\\-all CMD...\n.IP\nShows all.\n.HP\n\\-b\n.IP\nNone.",
            "--all CMD...: Shows all.\n\n-b: None.",
        ),
        (
            ".PP\n\\-a\n.RS 4\nShows all.\n.RE\nAlways\nnone\n.RS\nx\n.RE",
            "-a: Shows all.\n\nAlways\nnone\n\nx",
        ),
        (".It Fl a\nShows all.\n.It Fl b\nNone.", "-a: Shows all.\n\n-b: None."),
        (".IP \\(bu 2\none\n.IP 2. 2\ntwo\n.\n.br\n.\\}\nthree", "• one\n\n2. two\nthree"),
        ('One.\n.PP\n.\\" no\n\n.sp\n.nf\nx\n.fi\n.PP\ny', "One.\n\n```\nx\n```\n\ny"),
        (".EX\nx\n\n  y\n.EE\nz", "```\nx\n\n  y\n```\n\nz"),
        ("One.\n.Bd -literal -offset indent\nx\n.Ed\n.Dl y z\nn", "One.\n\n```\nx\n```\n\ny z\nn"),
        (".TP\n\\-a\n.nf\nx\n.fi\ny", "-a: x\n\ny"),
    ],
)
def test_a_term_of_a_manual_is_one_paragraph_with_its_text_and_no_command_leaves_empty_lines(written, shown):
    (found,) = records("a.1", f".TH A 1\n.SH OPTIONS\n{written}\n")
    assert found.text == f"OPTIONS\n{shown}"
    shown_last = written.removesuffix("\n.RE").count("\n")
    assert (found.metadata["start_line"], found.metadata["end_line"]) == (2, 3 + shown_last)


def test_an_option_and_its_text_are_in_one_passage():
    options = "".join(f".TP\n.B \\-\\-tide{n}\n{'Waits for the tide. ' * 4}\n" for n in range(30))
    for said in texts("a.1", f".TH A 1\n.SH OPTIONS\n{options}", chunk_size=400):
        assert said.removeprefix("OPTIONS\n").startswith("--tide")
        assert said.endswith("tide.")


def test_a_manual_by_mdoc_says_its_name_where_it_is_not_written_again():
    found = by_trail(MDOC)
    assert "berth\nlets them." in found["DESCRIPTION"].text
    assert "-n nights" in found["DESCRIPTION"].text


def test_a_manual_may_begin_with_what_is_ignored_and_define_commands():
    manual = ".ig\nThe licence of\n.SH NOTHING\n..\n.de Ex\n.SH NO\n..\n.TH fzf 1\n.SH NAME\nfzf - finds\n.SH OPTIONS\n.B --multi\n"
    assert trails("man/fzf.1", manual) == ["NAME", "OPTIONS"]
    assert "licence" not in text("man/fzf.1", manual)
