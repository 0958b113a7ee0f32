"""How each model family writes a call, as data: one short row per family, read by one scanner.

A row says what announces calls (`opens`), what ends them (`closes`), what begins one call and names its tool (`call`),
and how its arguments are marked (`key`, `value_end`, `form`). All are regular expressions. Whatever a family does by
the book, models drift: JSON inside pythonic markers, tags inside JSON envelopes. So the scanner looks at what really
follows an opener, and a row only has to name its marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["any", "braces"]

WORD = r"[A-Za-z_][\w.:/-]{0,127}"
NAME = rf"(?P<name>{WORD})"
DSML = r"[|｜‖]{1,2}\s?DSML\s?[|｜‖]{1,2}\s?"
PREFIX = rf"(?:{DSML}|[A-Za-z][\w-]{{0,20}}:)?"
ATTRIBUTES = r"(?:\s+(?!name\b)[\w-]{1,20}\s*=\s*[\"'][^\"'<>]{0,80}[\"']){0,3}"
KEY_OF_MARK = r"[\"']?(?P<key>[^<>=\"'\s]{1,120})[\"']?(?:[ \t][^<>\n]*)?(?:[>=]|(?=\n))"
PARAMETER = rf"<{PREFIX}(?:parameter|param|argument|arg)(?:{ATTRIBUTES}\s+name)?\s*=\s*{KEY_OF_MARK}"
PARAMETER_END = rf"</{PREFIX}(?:parameter|param|argument|arg)\s*>"
CHILD = r"<(?P<key>[A-Za-z_][\w-]{0,80})>"
BAR, GAP = "[|｜]", "[▁_]"
LINE = r"(?<![^\n])[ \t]*"


@dataclass(frozen=True, slots=True)
class Family:
    """One way to write a call.

    `call` has a group `name`; `key` has a group `key`; `{key}` in `value_end` and `{name}` in `closes` stand for what
    was matched. `form` says how the arguments are written where there is no `key`: "any" is JSON or bare text,
    "braces" is `{key:<|"|>text<|"|>}`. `bare` allows arguments that are neither JSON nor marked. `offered` asks for
    the name of an offered tool, for marks that occur in ordinary text.
    """

    name: str
    opens: str = ""
    closes: str = ""
    call: str = ""
    key: str = ""
    value_end: str = ""
    form: Form = "any"
    bare: bool = False
    offered: bool = False


FAMILIES: tuple[Family, ...] = (
    Family(
        "glm",
        call=rf"(?:<tool_call>\s*|{LINE}(?={WORD}\s*<arg_key>)){NAME}\s*"
        r"(?=<arg_key>|</|\{|```|\Z|[A-Za-z_]\w{0,60}\s*[=:])",
        closes=r"</tool_call>|</arg_value>(?=\s*(?:\Z|</tool_call>))",
        key=r"(?:<arg_key>\s*){1,20}(?P<key>[^<>]{1,120}?)\s*(?:(?:</arg_key>\s*)+(?:<arg_value>)?|<arg_value>)",
        value_end=r"</arg_value>",
        bare=True,
    ),
    Family(
        "gemma",
        call=rf"(?:(?:<\|tool_call>|<start_function_call>|<tool_call>)\s*|{LINE})call:\s*{NAME}\s*(?=\{{)",
        closes=r"<tool_call\|>|<end_function_call>|</tool_call>",
        form="braces",
    ),
    Family("hermes", opens=r"<tool_calls?>", closes=r"</tool_calls?>"),
    Family("nemotron", opens=r"(?i:<toolcalls?>)", closes=r"(?i:</toolcalls?>)"),
    Family(
        "function_call_tag",
        opens=r"<(?:functioncalls?|function_calls?|tool_use)>",
        closes=r"</(?:functioncalls?|function_calls?|tool_use)>",
    ),
    Family(
        "prefixed_tool_call", opens=r"<(?:[a-z]{1,20}[:_])tool_calls?>", closes=r"</(?:[a-z]{1,20}[:_])tool_calls?>"
    ),
    Family("llama_python_tag", opens=r"<\|python_(?:tag|start)\|>", closes=r"<\|(?:python_end|eom_id|eot_id|eot)\|>"),
    Family(
        "function_tag",
        call=rf"<function\s*[=/(]\s*[\"']?{NAME}[\"']?\)?(?:\[\])?\s*>?",
        closes=r"</function\s*>?",
        key=PARAMETER,
        value_end=PARAMETER_END,
        bare=True,
    ),
    Family(
        "dsml",
        opens=rf"<{DSML}(?:(?:function|tool)_)?calls>",
        closes=rf"</{DSML}(?:(?:function|tool)_)?calls>",
    ),
    Family(
        "invoke",
        call=rf"<{PREFIX}(?:invoke|function|function_call|tool_call|tool_use|tool|call){ATTRIBUTES}\s+name\s*=\s*[\"']?{NAME}[\"']?"
        r"(?:\s+(?:parameters|arguments|args)\s*=\s*[\"']?(?=\{)|[^<>{]*>)",
        closes=rf"</{PREFIX}(?:invoke|function|function_call|tool_call|tool_use|tool|call)\s*>",
        key=PARAMETER,
        value_end=PARAMETER_END,
    ),
    Family(
        "deepseek",
        call=rf"(?:<{BAR}tool{GAP}call{GAP}begin{BAR}>\s*(?:function\s*<{BAR}tool{GAP}sep{BAR}>\s*)?"
        rf"|{LINE}(?:function\s*)?<{BAR}tool{GAP}sep{BAR}>\s*)"
        rf"{NAME}\s*(?:<{BAR}tool{GAP}(?:sep|call_argument_begin){BAR}>|(?=[\n{{]))",
        closes=rf"<{BAR}tool{GAP}calls?{GAP}(?:end|section_end){BAR}>|<{BAR}tool{GAP}call{GAP}end{BAR}>",
        bare=True,
    ),
    Family(
        "deepseek_section",
        opens=rf"<{BAR}tool{GAP}calls{GAP}(?:section{GAP})?begin{BAR}>",
        closes=rf"<{BAR}tool{GAP}calls{GAP}(?:section{GAP})?end{BAR}>",
    ),
    Family(
        "mistral",
        call=rf"(?:\[TOOL_CALLS\]\s*(?={WORD}\s*[\[{{])|(?<![\w.:/-])(?={WORD}\s*\[(?:CALL_ID|ARGS)\])){NAME}\s*"
        r"(?:\[CALL_ID\]\s*[\w-]{1,64}\s*)?(?:\[ARGS\]|(?=\{))",
        closes=r"\[/?TOOL_CALLS\]",
    ),
    Family("mistral_list", opens=r"\[TOOL_CALLS?\]", closes=r"\[/TOOL_CALLS?\]"),
    Family("phi4", opens=r"functools\s*(?=\[)"),
    Family("granite", opens=r"<\|tool_calls?\|>", closes=r"<\|/tool_calls?\|>"),
    Family("lfm2", opens=r"<\|tool_call_start\|>", closes=r"<\|tool_call_end\|>"),
    Family("cohere", opens=r"<\|START_ACTION\|>", closes=r"<\|END_ACTION\|>"),
    Family("internlm", opens=r"<\|action_start\|>(?:\s*<\|(?:plugin|interpreter)\|>)?", closes=r"<\|action_end\|>"),
    Family("apertus", opens=r"<\|tools_prefix\|>", closes=r"<\|tools_suffix\|>"),
    Family("doubao", opens=r"<\|FunctionCallBegin\|>", closes=r"<\|FunctionCallEnd\|>"),
    Family("gigachat", opens=r"function call<\|role_sep\|>"),
    Family("lmstudio", opens=r"\[TOOL_REQUEST\]", closes=r"\[(?:END_TOOL_REQUEST|/TOOL_REQUEST)\]"),
    Family(
        "harmony",
        call=r"(?:(?:<\|start\|>)?assistant\s*)?(?:(?:<\|channel\|>)?(?:commentary|analysis)\s*)?"
        rf"(?<![A-Za-z_])to={NAME}(?:\s|<\|(?:channel|constrain)\|>|commentary|analysis|json|code)*"
        r"(?:<\|message\|>|(?=\{))",
        closes=r"<\|(?:call|end|return|start|channel)\|>",
        bare=True,
    ),
    Family("functionary", call=rf"{LINE}>>>\s*{NAME}[ \t]*\n(?=\s*\{{)", closes=r"\n>>>"),
    Family(
        "qwen_agent",
        call=rf"✿FUNCTION✿\s*[:：]?\s*{NAME}\s*✿ARGS✿\s*[:：]?",
        closes=r"✿(?:RESULT|RETURN|FUNCTION)✿",
        bare=True,
    ),
    Family(
        "continue",
        call=rf"{LINE}TOOL_NAME:\s*{NAME}",
        closes=r"\n```",
        key=r"BEGIN_ARG:\s*(?P<key>[\w.-]{1,120})[ \t]*\n",
        value_end=r"END_ARG",
    ),
    Family(
        "named_fields",
        call=r"<(?:tool_name|function_name|name|tool)>\s*(?P<name>[A-Za-z_][\w.-]{0,127})\s*</(?:tool_name|function_name|name|tool)>"
        r"\s*<(?:arguments|parameters|params|args|input|tool_input)>",
        closes=r"</(?:arguments|parameters|params|args|input|tool_input)>",
        key=CHILD,
        value_end=r"</{key}>",
        bare=True,
        offered=True,
    ),
    Family("tool_tag", opens=r"<tools?>(?=\s*[{\[])", closes=r"</tools?>"),
    Family(
        "tool_as_tag",
        call=r"<(?P<name>[A-Za-z_][\w.-]{0,127})>",
        closes=r"</{name}>",
        key=CHILD,
        value_end=r"</{key}>",
        offered=True,
    ),
    Family(
        "name_before_json",
        call=LINE + r"(?:functions?\.|tools?\.)?(?P<name>[A-Za-z_][\w.-]{0,127})[ \t]*:?\s*(?:```(?:json)?\s*)?(?=\{)",
        offered=True,
    ),
)
"""Rows are tried in this order at each place, so a more telling mark stands before a shorter one."""

THINK_OPEN = r"<(?:think|thinking|thought|reasoning|seed:think)>|<\|START_THINKING\|>|\[THINK\]|◁think▷"
THINK_CLOSE = r"</(?:think|thinking|thought|reasoning|seed:think)>|<\|END_THINKING\|>|\[/THINK\]|◁/think▷"

OTHER_VOICE = (
    r"</?tool_(?:response|result|output)s?>|<function_(?:results?|response|output)>|<start_function_response>"
    rf"|<\|tool_response|\[/?TOOL_RESULTS?\]|<{BAR}tool{GAP}outputs?{GAP}begin{BAR}>|```tool_outputs?\b"
    r"|<\|(?:observation|ipython|START_TOOL_RESULTS?|user|tool|system)\|>"
    r"|<\|start_header_id\|>\s*(?:ipython|tool|user|system)"
    r"|<\|im_start\|>\s*(?:user|tool|system|function|observation)"
    r"|<\|start\|>\s*(?:functions|user|tool|system|developer)"
    r"|<start_of_turn>\s*(?:user|tool|developer)|\[/?INST\]|✿(?:RESULT|RETURN)✿"
    rf"|{LINE}(?:Observation|Human|User|Question)[ \t]*:"
)
"""A tool result or another speaker, written by the model itself: it and all after it is fabricated."""

END_TOKENS = "im_end|eot_id|eom_id|eot|endoftext|end_of_text|end_of_turn|END_OF_TURN_TOKEN"
END_OF_TURN = rf"<\|(?:{END_TOKENS})\|>|</s>|<end_of_turn>|<｜end▁of▁sentence｜>"

ANSWER = (
    r"(?:<\|channel\|>\s*|(?<=assistant)|(?<![^\n]))final\b[^<\n]{0,40}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>"
    rf"|\A\s*<\|message\|>|<\|START_RESPONSE\|>|{LINE}>>>\s*all[ \t]*\n"
)
"""What a family writes before an answer to the user."""

CONTROL = r"<[|｜][^|｜<>\n]{1,40}[|｜]>|</?s>|<(?:start|end)_of_turn>"
"""Any chat-template token, where it only has to be stepped over."""

OPENERS = tuple(family.call or family.opens for family in FAMILIES)
CLOSES = "|".join(family.closes for family in FAMILIES if family.closes and "{" not in family.closes)
