"""Messages as the model counts them: list contents, tool calls with their results, tool schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, convert_to_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_context_engine.models.errors import ConfigError
from langchain_context_engine.models.redact import safe_message
from langchain_context_engine.models.request import Message

CountMessages = Callable[[Sequence[BaseMessage]], int]
"""Anything that counts the tokens of messages, such as a chat model's `get_num_tokens_from_messages`."""

_MEDIA = frozenset({"image", "image_url", "input_image", "audio", "input_audio", "video", "file"})


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
        return sum(self._of(message) for message in messages)

    def _of(self, message: BaseMessage) -> int:
        tokens = self.tokens_per_message + self._of_content(message.content)
        if message.name:
            tokens += self.count(message.name)
        if isinstance(message, AIMessage):
            tokens += sum(self._of_data({"name": c["name"], "args": c["args"]}) for c in message.tool_calls)
        if isinstance(message, ToolMessage):
            tokens += self.count(message.tool_call_id)
        return tokens

    def _of_content(self, content: Any) -> int:
        if content is None:
            return 0
        if isinstance(content, str):
            return self.count(content) if content else 0
        return sum(self._of_block(block) for block in content)

    def _of_block(self, block: Any) -> int:
        if not isinstance(block, Mapping):
            return self.count(str(block))
        if block.get("type") in _MEDIA:
            return self.tokens_per_image
        text = block.get("text")
        return self.count(text) if isinstance(text, str) else self._of_data(block)

    def _of_data(self, data: Any) -> int:
        return self.count(json.dumps(data, ensure_ascii=False, default=str))


def count_tools(tools: Iterable[Any], count: Callable[[str], int]) -> int:
    """Return the tokens of tool schemas, as JSON in the shape that models are given them.

    Args:
        tools: LangChain tools, functions, pydantic models or schemas.
        count: Counts the tokens of a text.

    Raises:
        ConfigError: One is no tool.
    """
    tokens = 0
    for tool in tools:
        try:
            schema = convert_to_openai_tool(tool)
        except Exception as error:
            raise ConfigError(f"not a tool: {type(tool).__name__}: {safe_message(error)}") from error
        tokens += count(json.dumps(schema, ensure_ascii=False))
    return tokens


def read_messages(messages: Any) -> tuple[BaseMessage, ...]:
    """Return LangChain messages of whatever stands for them; a content of None becomes "".

    Raises:
        ConfigError: Something is no message.
    """
    given = messages or ()
    if isinstance(given, (str, Mapping)):
        raise ConfigError(f"history is a list of messages, got {type(given).__name__}")
    try:
        return tuple(convert_to_messages([_readable(message) for message in given]))
    except Exception as error:
        raise ConfigError(f"history holds something that is no message: {safe_message(error)}") from error


def _readable(message: Any) -> Any:
    if isinstance(message, Message):
        return (message.role, message.text)
    if isinstance(message, Mapping) and message.get("content") is None:
        return {**message, "content": ""}
    return message


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
