"""Models that others run and that were not measured here: how each family writes a call, with an example of it.

The examples are read by the parser in the tests, so this page never promises a format that would not be understood.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    """A family of models: who they are, how a call of theirs is marked, an example, and what is known of servers.

    `rows` are the names of the parser's rows (`parsing.families`) that read it; none where it is plain JSON.
    """

    models: str
    marks: str
    example: str
    known: str = ""
    rows: tuple[str, ...] = ()


NOT_MEASURED = (
    Elsewhere(
        "Qwen2.5, Qwen3, Hermes",
        "a JSON object between `<tool_call>` tags",
        '<tool_call>\n{"name": "tide", "arguments": {"harbor": "Oban"}}\n</tool_call>',
        "Ollama lists qwen2.5-coder among the models with tools, yet its calls arrive as bare JSON in the content.",
        ("hermes",),
    ),
    Elsewhere(
        "Qwen3-Coder",
        "a tag with the tool's name and one for each parameter, in `<tool_call>` tags",
        "<tool_call>\n<function=tide>\n<parameter=harbor>\nOban\n</parameter>\n</function>\n</tool_call>",
        "Ollama's reader wants the opening `<tool_call>` to the letter.",
        ("function_tag",),
    ),
    Elsewhere(
        "Llama 3.1 and later",
        "a JSON object with `parameters`, at times after `<|python_tag|>`",
        '<|python_tag|>{"name": "tide", "parameters": {"harbor": "Oban"}}<|eom_id|>',
        "vLLM's reader for this family takes one call a turn.",
        ("llama_python_tag",),
    ),
    Elsewhere(
        "Mistral, Magistral, Devstral",
        "`[TOOL_CALLS]`, then a name and JSON, or in older templates a JSON list",
        '[TOOL_CALLS]tide{"harbor": "Oban"}',
        "vLLM's template for this family wants call ids of nine digits.",
        ("mistral", "mistral_list"),
    ),
    Elsewhere(
        "DeepSeek V3 and R1",
        "tokens with full-width bars around the type, the name and JSON",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>tide\n"
        '```json\n{"harbor": "Oban"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        "",
        ("deepseek", "deepseek_section"),
    ),
    Elsewhere(
        "Kimi K2",
        "a section of tokens; the id holds the tool's name and a counter",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.tide:0<|tool_call_argument_begin|>"
        '{"harbor": "Oban"}<|tool_call_end|><|tool_calls_section_end|>',
        "SGLang makes the ids anew from a counter.",
        ("deepseek", "deepseek_section"),
    ),
    Elsewhere(
        "gpt-oss (harmony)",
        "a commentary channel addressed to the tool, then JSON",
        '<|channel|>commentary to=functions.tide <|constrain|>json<|message|>{"harbor": "Oban"}<|call|>',
        "Ollama answers 500 where it cannot read a call, with the raw text in the error; this was seen in about one "
        "of four calls that write files of several lines.",
        ("harmony",),
    ),
    Elsewhere(
        "GLM 4.5 and later",
        "the name in `<tool_call>` tags, then pairs of `<arg_key>` and `<arg_value>`",
        "<tool_call>tide\n<arg_key>harbor</arg_key>\n<arg_value>Oban</arg_value>\n</tool_call>",
        "",
        ("glm",),
    ),
    Elsewhere(
        "FunctionGemma, Gemma 4",
        "`call:` with the name, arguments in braces without quotes",
        '<|tool_call>call:tide{harbor:<|"|>Oban<|"|>}<tool_call|>',
        "vLLM 0.26 ignored a named or required tool_choice for this family.",
        ("gemma",),
    ),
    Elsewhere(
        "MiniMax M2",
        "`invoke` elements with named parameters in a tag of the family's own",
        '<minimax:tool_call>\n<invoke name="tide">\n<parameter name="harbor">Oban</parameter>\n</invoke>\n'
        "</minimax:tool_call>",
        "Through OpenRouter these elements were seen in the text of streams.",
        ("prefixed_tool_call", "invoke"),
    ),
    Elsewhere(
        "Phi-4-mini",
        "the word `functools`, then a JSON list",
        'functools[{"name": "tide", "arguments": {"harbor": "Oban"}}]',
        "",
        ("phi4",),
    ),
    Elsewhere(
        "Granite 3",
        "a token, then a JSON list",
        '<|tool_call|>[{"name": "tide", "arguments": {"harbor": "Oban"}}]',
        "",
        ("granite",),
    ),
    Elsewhere(
        "LFM2",
        "calls in Python's syntax between two tokens",
        '<|tool_call_start|>[tide(harbor="Oban")]<|tool_call_end|>',
        "",
        ("lfm2",),
    ),
    Elsewhere(
        "Command R and A",
        "a JSON list with `tool_name` between two tokens",
        '<|START_ACTION|>[{"tool_name": "tide", "parameters": {"harbor": "Oban"}}]<|END_ACTION|>',
        "",
        ("cohere",),
    ),
    Elsewhere(
        "InternLM 2.5 and 3",
        "a JSON object between two tokens",
        '<|action_start|><|plugin|>{"name": "tide", "parameters": {"harbor": "Oban"}}<|action_end|>',
        "",
        ("internlm",),
    ),
    Elsewhere(
        "Functionary",
        "`>>>` and the tool's name on a line, then JSON",
        '>>>tide\n{"harbor": "Oban"}',
        "llama-cpp-python has chat handlers for two versions of it.",
        ("functionary",),
    ),
    Elsewhere(
        "Any model in LM Studio without a template of its own",
        "JSON between `[TOOL_REQUEST]` and its end mark",
        '[TOOL_REQUEST]{"name": "tide", "arguments": {"harbor": "Oban"}}[END_TOOL_REQUEST]',
        "LM Studio asks for this format itself and leaves what it cannot read in the content.",
        ("lmstudio",),
    ),
    Elsewhere(
        "Models whose template knows no tools (many base models and fine-tunes)",
        "a step of the text protocol, for want of a format of their own",
        'Thought: I look it up.\nAction: tide\nAction Input: {"harbor": "Oban"}',
        "llama-server may drop the tools without a word, Ollama answers 400, llama_cpp.server leaves the call in the "
        "content.",
    ),
)
