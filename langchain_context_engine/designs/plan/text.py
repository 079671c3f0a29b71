"""Texts of a plan: `{input.question}` and `{context.notes}` filled in by dot path, in one pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from langchain_context_engine.models.errors import TemplateError

_PATH = r"[A-Za-z_]\w*(?:\.[\w-]+)*"
_SLOT = re.compile(rf"\{{\{{({_PATH})\}}\}}|\{{({_PATH})\}}")


def paths_of(text: str) -> list[str]:
    """Return the paths that a text asks for, in order.

    Example:
        >>> paths_of('{input.question} {{not.this}} {"nor": "that"}')
        ['input.question']
    """
    return [slot[2] for slot in _SLOT.finditer(text) if slot[2]]


def packs_named(content: str | list[Any]) -> list[str]:
    """Return the names that a message's content asks for as `{context.name}`.

    Example:
        >>> packs_named("Known: {context.notes}, {input.question}")
        ['notes']
    """
    parts = [path.split(".") for path in paths_of(content if isinstance(content, str) else repr(content))]
    return [part[1] for part in parts if part[0] == "context" and len(part) > 1]


def fill_paths(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its paths filled in; a value is never read again, None is nothing.

    Only keys of mappings are looked up, never attributes. `{{path}}` stands for the text `{path}`, and
    every other brace for itself.

    Raises:
        TemplateError: A path leads nowhere; the message names it.

    Example:
        >>> fill_paths("Question: {input.question}", {"input": {"question": "{input.secret}?"}})
        'Question: {input.secret}?'
    """
    return _SLOT.sub(
        lambda slot: slot[0][1:-1] if slot[1] else _text(look_up(slot[2], values)),
        text,
    )


def look_up(path: str, values: Mapping[str, Any]) -> Any:
    """Return the value at a dot path.

    Raises:
        TemplateError: It leads nowhere.
    """
    found: Any = values
    for part in path.split("."):
        if not isinstance(found, Mapping) or part not in found:
            known = ", ".join(sorted(map(str, found))) if isinstance(found, Mapping) else "nothing"
            raise TemplateError(
                f"{{{path}}} leads nowhere: there is no {part!r}, but {known or 'nothing'}; "
                f"to show the braces write {{{{{path}}}}}"
            )
        found = found[part]
    return found


def fill_content(content: str | list[Any], values: Mapping[str, Any]) -> str | list[Any]:
    """Return a message's content with its paths filled in; of a list, in its texts."""
    if isinstance(content, str):
        return fill_paths(content, values)
    return [_filled_block(block, values) for block in content]


def _filled_block(block: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(block, str):
        return fill_paths(block, values)
    if isinstance(block, Mapping) and isinstance(block.get("text"), str):
        return {**block, "text": fill_paths(block["text"], values)}
    return block


def _text(value: Any) -> str:
    return "" if value is None else str(value)
