"""Rules of Markdown and MDX: headings are those that a reader sees, front matter tells of the document."""

from __future__ import annotations

import pytest

from tests.document_builders import read, trails


def test_a_line_that_begins_with_inline_code_of_three_backticks_opens_no_fence():
    """F3."""
    text = "# A\n\n```npm ci``` installs everything.\n\n## B\n\nx\n\n## C\n\ny\n"
    assert trails("a.md", text) == ["A", "A › B", "A › C"]


def test_a_comment_holds_no_heading():
    """F4."""
    assert trails("a.md", "# A\n\n<!--\n# no\n-->\n\n## B\n\nx\n") == ["A", "A › B"]


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
        ("#no\n\n####### no\n\nx\n", [None]),
    ],
)
def test_headings_are_those_of_commonmark(text, expected):
    assert trails("a.md", text) == expected


def test_front_matter_gives_title_and_date():
    found = read("post.md", '---\ntitle: "On dates"\ndate: 2024-05-01\ntags: [a]\n---\n\nHello.\n').records[0]
    assert (found.metadata["title"], found.metadata["created_at"]) == ("On dates", 1714521600)


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
