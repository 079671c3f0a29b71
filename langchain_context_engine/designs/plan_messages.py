"""What a plan is declared as and made of: directives, policy, texts with paths, messages and their tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from langchain_context_engine.designs.arguments import Checked
from langchain_context_engine.errors import ConfigError, TemplateError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import Message
from langchain_context_engine.trace.context import Part
from langchain_context_engine.trace.prompt import JOINT

Ratio = Annotated[float, Field(gt=0, le=1, strict=True)]
Tokens = Annotated[int, Field(ge=0, strict=True)]

_PATH = r"[A-Za-z_]\w*(?:\.[\w-]+)*"
_SLOT = re.compile(rf"\{{\{{({_PATH})\}}\}}|\{{({_PATH})\}}")
_MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "file"})


class BudgetSpec(Checked):
    """A number of tokens, a ratio (above 0, at most 1) of a larger budget, or the smaller of both.

    The larger one is the model's window for `input_budget`, and the input budget for a pack's `budget`.
    """

    max_tokens: Tokens | None = None
    ratio: Ratio | None = None

    def of(self, whole: int | None) -> int | None:
        """Return the tokens that this leaves of a whole; None is no bound."""
        share = None if self.ratio is None or whole is None else int(self.ratio * whole)
        return min((bound for bound in (self.max_tokens, share) if bound is not None), default=None)


class PackBudgetSpec(BudgetSpec):
    """What the packs without a budget of their own share, by weight: a share of the input budget, tokens."""

    max_tokens: Tokens | None = Field(default=None, alias="default_max_tokens")
    ratio: Ratio | None = Field(default=None, alias="default_ratio")


class ExpansionSpec(Checked):
    """How far a pack that is not full asks on."""

    max_pages: int = Field(default=1, ge=1, strict=True)
    min_fill_ratio: Ratio = 1.0


class CompactorSpec(Checked):
    """Which compactor: "truncate", "extractive", "summary", or a registered one."""

    type: str


class ContextPolicySpec(Checked):
    """How a plan fits its budget.

    Attributes:
        input_budget: Tokens of everything that goes to the model; not given is no bound.
        pack_budget: What the packs share.
        overflow: "compact": what does not fit is left out or cut, in the order of the design.
        compactor: How packs and the system prompt are cut; not given cuts packs to the sentences that
            say most, and the system prompt at its end.
        max_iterations: How often a text is fitted again because its tokens did not add up.
        expansion: Whether packs ask for further pages.
    """

    input_budget: BudgetSpec = BudgetSpec()
    pack_budget: PackBudgetSpec = PackBudgetSpec()
    overflow: Literal["compact"] = "compact"
    compactor: CompactorSpec | None = None
    max_iterations: int = Field(default=4, ge=1, strict=True)
    expansion: ExpansionSpec = ExpansionSpec()


class MessageSpec(Checked):
    """A message of the plan's own, a text or content blocks; `{input.…}` and `{context.…}` are filled in."""

    type: Literal["system", "user", "assistant"]
    content: str | list[Any]


class HistorySpec(Checked):
    """Where the conversation so far stands."""

    type: Literal["history"]


class PackSpec(Checked):
    """Where a pack stands; its own budget (not given takes part in `pack_budget`), weight and priority."""

    type: Literal["context"]
    name: str
    budget: BudgetSpec | None = None
    weight: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    priority: int = 0


Directive = Annotated[MessageSpec | HistorySpec | PackSpec, Field(discriminator="type")]


class ContextDeclaration(Checked):
    """A plan as data: which messages and packs, under which policy.

    Attributes:
        name: What it is called.
        messages: In the order of the prompt.
        policy: How it fits its budget.
    """

    name: str = "plan"
    messages: tuple[Directive, ...]
    policy: ContextPolicySpec = ContextPolicySpec()


def packs_named(directive: Directive) -> list[str]:
    """Return the names that a message asks for as `{context.name}`.

    Example:
        >>> packs_named(MessageSpec(type="user", content="Known: {context.notes}, {{not.this}}"))
        ['notes']
    """
    if not isinstance(directive, MessageSpec):
        return []
    content = directive.content if isinstance(directive.content, str) else repr(directive.content)
    paths = [slot[2].split(".") for slot in _SLOT.finditer(content) if slot[2]]
    return [path[1] for path in paths if path[0] == "context" and len(path) > 1]


def fill_paths(content: Any, values: Mapping[str, Any]) -> Any:
    """Return a text, or content blocks, with paths filled in; a value is never read again, None is nothing.

    Only keys of mappings are looked up, never attributes. `{{path}}` stands for the text `{path}`, and
    every other brace for itself.

    Raises:
        TemplateError: A path leads nowhere; the message names it.

    Example:
        >>> fill_paths("Question: {input.question}", {"input": {"question": "{input.secret}?"}})
        'Question: {input.secret}?'
    """

    def filled(slot: re.Match[str]) -> str:
        if slot[1]:
            return slot[0][1:-1]
        value = _look_up(slot[2], values)
        return "" if value is None else str(value)

    if isinstance(content, str):
        return _SLOT.sub(filled, content)
    if isinstance(content, list):
        return [fill_paths(block, values) for block in content]
    if isinstance(content, Mapping) and isinstance(content.get("text"), str):
        return {**content, "text": _SLOT.sub(filled, content["text"])}
    return content


def _look_up(path: str, values: Mapping[str, Any]) -> Any:
    found: Any = values
    for part in path.split("."):
        if not isinstance(found, Mapping) or part not in found:
            known = ", ".join(sorted(map(str, found))) if isinstance(found, Mapping) else ""
            raise TemplateError(
                f"{{{path}}} leads nowhere: there is no {part!r}, but {known or 'nothing'}; "
                f"to show the braces write {{{{{path}}}}}"
            )
        found = found[part]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCounter:
    """Counts the tokens of messages: all text that they carry, and a flat number for each picture.

    Attributes:
        count: Counts the tokens of a text.
        tokens_per_message: What a model's format adds around each message; OpenAI's adds 3.
        tokens_per_image: What a picture, a sound or a file costs.

    Example:
        >>> counter = MessageCounter(count=lambda text: len(text.split()))
        >>> counter([HumanMessage("two words"), AIMessage([{"type": "text", "text": "one"}, "more"])])
        4
    """

    count: Callable[[str], int]
    tokens_per_message: int = 0
    tokens_per_image: int = 85

    def __call__(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens of some messages."""
        return sum(self.tokens_per_message + sum(map(self._of, _carried(m))) for m in messages)

    def _of(self, block: Any) -> int:
        if not isinstance(block, Mapping):
            return self.count(str(block))
        if block.get("type") in _MEDIA:
            return self.tokens_per_image
        text = block.get("text")
        return self.count(text if isinstance(text, str) else _as_json(block))


def _carried(message: BaseMessage) -> list[Any]:
    """Return all that a message carries: texts, blocks, the calls of tools."""
    content = message.content
    found = [content] if isinstance(content, str) and content else list(content or ())
    if isinstance(message, AIMessage):
        found += [{"name": call["name"], "args": call["args"]} for call in message.tool_calls]
    if isinstance(message, ToolMessage):
        found.append(message.tool_call_id)
    return [*found, message.name] if message.name else found


def _as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)


def count_tools(tools: Iterable[Any], count: Callable[[str], int]) -> int:
    """Return the tokens of tool schemas, as JSON in the shape that models are given them.

    Raises:
        ConfigError: One is no tool.
    """
    try:
        return sum(count(_as_json(convert_to_openai_tool(tool))) for tool in tools)
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"not a tool: {safe_message(error)}") from error


def read_messages(messages: Any) -> tuple[BaseMessage, ...]:
    """Return LangChain messages of whatever stands for them; a content of None becomes "".

    Raises:
        ConfigError: Something is no message.
    """
    given = messages or ()
    if isinstance(given, (str, Mapping)):
        raise ConfigError(f"history is a list of messages, got {type(given).__name__}")

    def readable(message: Any) -> Any:
        if isinstance(message, Message):
            return (message.role, message.text)
        if isinstance(message, Mapping) and message.get("content") is None:
            return {**message, "content": ""}
        return message

    try:
        return tuple(convert_to_messages(list(map(readable, given))))
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"history holds something that is no message: {safe_message(error)}") from error


def turns(messages: Sequence[BaseMessage]) -> list[tuple[BaseMessage, ...]]:
    """Return the turns of a conversation: a user's message and everything up to the next one.

    So a tool call and its results are always in one turn.

    Example:
        >>> [len(turn) for turn in turns([HumanMessage("a"), AIMessage("b"), HumanMessage("c")])]
        [2, 1]
    """
    grouped: list[list[BaseMessage]] = []
    for message in messages:
        if not grouped or isinstance(message, HumanMessage):
            grouped.append([])
        grouped[-1].append(message)
    return [tuple(turn) for turn in grouped]


class Piece(NamedTuple):
    """A piece of a prompt: what is told of it, and its messages where it is none of the system prompt."""

    part: Part
    messages: tuple[BaseMessage, ...] = ()

    @classmethod
    def said(cls, name: str, kind: str, messages: Sequence[BaseMessage]) -> Piece:
        """Return messages as a piece."""
        read = [Message.of(message) for message in messages]
        text = "\n".join(message.text for message in read)
        return cls(Part(name=name, kind=kind, role=read[0].role, text=text), tuple(messages))


def system_of(pieces: Iterable[Piece]) -> str:
    """Return the system prompt of some pieces."""
    return JOINT.join(p.part.text for p in pieces if p.part.role == "system" and p.part.text.strip())


def messages_of(pieces: Sequence[Piece]) -> list[BaseMessage]:
    """Return the messages of some pieces, in order."""
    system = system_of(pieces)
    said = (message for piece in pieces for message in piece.messages)
    return [*([SystemMessage(system)] if system else []), *said]


def write_pieces(
    directives: Sequence[Directive],
    values: Mapping[str, Any],
    packs: Mapping[str, str],
    *,
    base: str = "",
    user: BaseMessage | None = None,
    as_text: bool = False,
) -> list[Piece]:
    """Return a plan's prompt, the new message last; where the history stands is a piece without messages.

    Args:
        directives: The plan's messages.
        values: What texts may name.
        packs: Name → text of every pack; texts may name them as `context.<name>`.
        base: Stands before the plan's own system prompt.
        user: The new message; None: the plan's last user message is it, which else stands before it.
        as_text: Everything is one text, whoever says it: of a nested plan.

    Raises:
        TemplateError: A text names what there is not.
    """
    given = values.get("context")
    root = {**values, "context": {**(given if isinstance(given, Mapping) else {}), **packs}}
    system, said = [Piece(Part(name="base", kind="system", text=base))], list[Piece]()
    for number, directive in enumerate(directives, 1):
        if isinstance(directive, PackSpec):
            system.append(Piece(Part(name=directive.name, kind="pack", text=packs[directive.name])))
        elif isinstance(directive, HistorySpec):
            said.append(Piece(Part(name="history", kind="history", role="user")))
        else:
            name, content = f"{directive.type} {number}", fill_paths(directive.content, root)
            if as_text or directive.type == "system":
                text = Message.of((directive.type, content)).text
                system.append(Piece(Part(name=name, kind="system", text=text)))
            else:
                message = HumanMessage(content) if directive.type == "user" else AIMessage(content)
                said.append(Piece.said(name, "example", (message,)))
    asked = [piece for piece in said if piece.messages and piece.part.role == "user"]
    if asked:
        said.remove(asked[-1])
        said.append(asked[-1] if user is not None else Piece.said("user", "user", asked[-1].messages))
    return [*system, *said, *([] if user is None else [Piece.said("user", "user", (user,))])]
