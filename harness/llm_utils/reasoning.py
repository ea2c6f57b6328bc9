"""Separates the reasoning of a model from its answer, in replies that contain both: servers without a parser for
the tags of a reasoning model leave them in the text. Chat templates often add the opening tag to the prompt, so
that only the closing one is in the reply.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from harness.core.records import REASONING, Prediction, Step

_NAMES = r"(?:\w+[:|]|inner_|longcat_)?(?:think|thinking|thoughts?|reasoning|reflection|scratch_?pad|monologue)"
_TAG = re.compile(
    # DeepSeek-R1, Qwen3, Nemotron, Phi-4-reasoning, GLM, MiniMax, Hunyuan, EXAONE and others; Seed-OSS; Kimi;
    # Magistral; OpenThinker; MedGemma; Cohere; Apertus; Gemma 4.
    rf"(?P<open><{_NAMES}(?:\s[^<>]*)?>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<unused94>"
    r"|<\|START_THINKING\|>|<\|inner_prefix\|>|<\|channel>thought\b)"
    rf"|</{_NAMES}\s*>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<unused95>|<\|END_THINKING\|>"
    r"|<\|inner_suffix\|>|<channel\|>",
    re.IGNORECASE,
)
_OF_ANSWER = re.compile(r"<\|(?:(?:begin|end)_of_(?:solution|box)|(?:START|END)_RESPONSE)\|>", re.IGNORECASE)
"""Marks of an answer: OpenThinker, GLM-V, Cohere."""
_WRAPPED = re.compile(
    r"^\s*<((?:final_)?answer|response|final|output)>(.*?)(?:</\1>\s*)?$", re.IGNORECASE | re.DOTALL
)
"""An answer as Hunyuan, Ernie and Granite write it."""
_HARMONY = re.compile(
    r"(?:<\|start\|>\s*\w*\s*)?<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>", re.IGNORECASE
)
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start)\|>", re.IGNORECASE)
_IN_WORDS = (
    # Harmony without its special tokens; Granite 3.2.
    re.compile(r"^(?:assistant)?analysis(?=[A-Z0-9\W])(.*?)(?:assistant\s?final(.*)|$)", re.DOTALL),
    re.compile(
        r"^\W*Here(?:'s| is) my thought process:(.*?)(?:Here(?:'s| is) my response:(.*)|$)",
        re.IGNORECASE | re.DOTALL,
    ),
    # Open WebUI; the command line of Ollama.
    re.compile(
        r"^<details type=\"reasoning\"[^>]*>(?:\s*<summary>.*?</summary>)?(.*?)(?:</details>(.*)|$)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(r"^Thinking\.\.\.\n(.*?)(?:\n\.\.\.done thinking\.\s*\n(.*)|$)", re.DOTALL),
)
_END = (
    r"(?:<\|(?:im_end|eot_id|end_of_text|endoftext|end|return|eom_id|END_OF_TURN_TOKEN|assistant_end|endofturn|eos|"
    r"user|observation)\|>|\[\|endofturn\|\]|</s>|<eos>|<end_of_turn>|<turn\|>"
    r"|<\uff5cend\u2581of\u2581sentence\uff5c>)"
)
_END_OF_TURN = re.compile(rf"{_END}\Z", re.IGNORECASE)
_NEXT_TURN = re.compile(
    rf"{_END}\s*(<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|user\|>|<\|turn>|\[INST\]|<\uff5cUser\uff5c>)",
    re.IGNORECASE,
)
"""The model went on with a turn of its own making."""
_START_OF_TURN = re.compile(
    r"(?:<bos>|<\|begin_of_text\|>)?\s*(?:<\|im_start\|>assistant\s*\n|<start_of_turn>model\s*\n"
    r"|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|assistant\|>|<\uff5cAssistant\uff5c>)?\s*",
    re.IGNORECASE,
)
_OPENING_MARKS, _CLOSING_MARKS = ("\u201c", "\u201e", "\u2018", "\u00ab"), ("\u201d", "\u2019", "\u00bb")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1", re.DOTALL | re.MULTILINE)


class Separated(NamedTuple):
    """A reply in two parts; either may be empty."""

    reasoning: str
    answer: str
    is_complete: bool = True
    """False: the reply ends within the reasoning."""


def separate_reasoning(text: str, *, is_cut: bool = False) -> Separated:
    """The reasoning in a reply, and the rest, without tokens that end a turn. A text without marks is returned
    unchanged as the answer. `is_cut`: max_tokens ended the reply.

    An opening tag without a closing one: all after it is reasoning, because the reply was cut off. A closing tag
    without an opening one: all before it is reasoning. A tag that an answer quotes, shows in code, or mentions
    within a line before any reasoning is text.
    """
    bare = text.lstrip("\ufeff \t\r\n")
    if _HARMONY.match(bare):
        return _harmony(bare)
    for form in _IN_WORDS:
        if (found := form.match(bare)) and (is_cut or found[2] is not None):
            return Separated(found[1].strip(), _shown(found[2] or ""), found[2] is not None)
    reasoning: list[str] = []
    answer: list[str] = []
    depth, last = 0, 0
    for tag, is_opening in _marks(bare):
        # A closing tag that nothing has opened ends reasoning that the prompt began.
        is_reasoning = depth > 0 or not (is_opening or reasoning)
        (reasoning if is_reasoning else answer).append(bare[last : tag.start()])
        depth = depth + 1 if is_opening else max(0, depth - 1)
        last = tag.end()
    if not last:
        shown = _without_end(text)
        wrapped = _WRAPPED.match(shown)
        return Separated("", text if shown == text and not wrapped else _shown(text))
    (reasoning if depth else answer).append(bare[last:])
    parts = [part.strip() for part in reasoning]
    return Separated("\n".join(filter(None, parts)), _shown("".join(answer)), not depth)


def _marks(text: str, *, nests: bool = True) -> list[tuple[re.Match[str], bool]]:
    """The tags around reasoning, each with whether it opens. All others are text, and so is an opening tag within
    reasoning if it `nests` and then a closing one is missing.
    """
    marks: list[tuple[re.Match[str], bool]] = []
    ends = [*(found.start() for found in re.finditer("\n", text)), len(text)]
    fences = [found.span() for found in _FENCE.finditer(text)]
    depth, mentioned_in, passed_over = 0, -1, None
    for tag in _TAG.finditer(text):
        is_opening, line = tag["open"] is not None, text.rfind("\n", 0, tag.start()) + 1
        before, after = text[line : tag.start()], text[tag.end() : ends[bisect_left(ends, tag.end())]]
        if is_opening:
            is_mention = (bool(before.strip()) and not marks) or (depth > 0 and not nests)
        else:
            is_mention = mentioned_in == line
        # Reasoning may leave a fence open, which then seems to end in the answer.
        in_code = depth == 0 and any(start < tag.start() < end for start, end in fences)
        if in_code or is_mention or _is_quoted(before, after, is_close=depth > 0):
            mentioned_in, passed_over = (line, passed_over) if is_opening else (-1, tag)
        else:
            marks.append((tag, is_opening))
            depth, passed_over = depth + 1 if is_opening else max(0, depth - 1), None
    if depth and passed_over:
        depth -= 1
        marks.append((passed_over, False))
    return _marks(text, nests=False) if depth and nests else marks


def _is_quoted(before: str, after: str, *, is_close: bool) -> bool:
    """Whether a tag between these parts of its line is in quotation marks or inline code; `is_close`: these must
    touch the tag.
    """
    if before.endswith(_OPENING_MARKS) or after.startswith(_CLOSING_MARKS):
        return True
    if before.endswith("'") and after.startswith("'"):
        return True
    return any(
        before.count(mark) % 2 == 1
        and (before.endswith(mark) and after.startswith(mark) if is_close else mark in after)
        for mark in '`"'
    )


def with_reasoning_apart(prediction: Prediction, reasoning: Sequence[str] = ()) -> Prediction:
    """The prediction with the reasoning in its answer moved to its trace, after `reasoning` of its models. Raises
    ValueError if nothing is left of the answer.
    """
    found = separate_reasoning(prediction.answer or "")
    if found.reasoning and not found.answer.strip():
        raise ValueError("the answer is reasoning only: it was cut off, so raise max_tokens of its model")
    parts = (*reasoning, found.reasoning)
    steps = tuple(Step(name=REASONING, content=part) for part in parts if part)
    if not steps and found.answer == (prediction.answer or ""):
        return prediction
    answer = None if prediction.answer is None else found.answer
    return prediction.model_copy(update={"answer": answer, "trace": (*prediction.trace, *steps)})


def _harmony(text: str) -> Separated:
    """The channels of OpenAI's Harmony format: `final` is the answer, others are reasoning."""
    reasoning: list[str] = []
    answer: list[str] = []
    heads = list(_HARMONY.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : following.start() if following else len(text)]
        part = _HARMONY_END.split(part)[0].strip()
        (answer if head[1].lower() == "final" else reasoning).append(part)
    return Separated("\n".join(filter(None, reasoning)), "\n".join(filter(None, answer)), bool(answer))


def _without_end(text: str) -> str:
    """The text without the tokens around a turn, and what follows it; unchanged if there is none."""
    if (start := _START_OF_TURN.match(text)) and start[0].strip():
        text = text[start.end() :]
    # An answer about such tokens shows a turn from its start on.
    if (following := _NEXT_TURN.search(text)) and following[1] not in text[: following.start()]:
        text = text[: following.start()]
    ended = text.rstrip()
    while found := _END_OF_TURN.search(ended, max(0, len(ended) - 40)):
        text = ended = ended[: found.start()].rstrip()
    return text


def _shown(text: str) -> str:
    bare = _OF_ANSWER.sub("", _without_end(text)).strip()
    wrapped = _WRAPPED.match(bare)
    return wrapped[2].strip() if wrapped else bare
