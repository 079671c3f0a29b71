"""Templates read by a real CommonMark parser, and texts that try to break out of them."""

from __future__ import annotations

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from langchain_context_engine.rendering.containment import fill
from langchain_context_engine.rendering.templates import Template, passage_block

NEXT = "the next passage stands here"
INTRO = "Intro\n\n```python\nprint(1)\nprint(2)\nprint(3)\n```\nend"
# Lines that open, close or resemble fences, for texts that try to break out.
LINES = st.sampled_from(
    [
        "```",
        "```python",
        "````",
        "~~~",
        "~~~~ sh",
        "``` a`b",
        "  ```",
        "   ~~~",
        "    ```",
        "text",
        "",
        "``",
        "```x```",
        "~~~ `",
        "```  ",
        "\t```",
        "a ``` b",
        "- ```",
        "1. ~~~ sh",
        "  text",
        "    text",
    ]
)
MARKDOWN = st.lists(LINES, max_size=8).map("\n".join)


def code_of(markdown: str) -> list[str]:
    return [t.content for t in MarkdownIt("commonmark").parse(markdown) if t.type == "fence"]


def join(template: Template, *blocks: str) -> str:
    return fill(template.header, {}) + template.separator.join(blocks) + fill(template.footer, {})


def is_contained(template: Template, block: str) -> bool:
    """Whether a passage that follows is read as text, by a real CommonMark parser."""
    following = passage_block(template, {"content": NEXT, "citation": "[2]"})
    return not any(NEXT in code for code in code_of(join(template, block, following)))


FENCED = [
    Template(name="fenced", passage="## {{type}}\n```\n{{content}}\n```\n"),
    Template(name="tildes", passage="~~~{{type}}\n{{content}}\n~~~", separator="\n\n"),
    Template(name="info", passage="```{{title}}\n{{content}}\n```"),
]
