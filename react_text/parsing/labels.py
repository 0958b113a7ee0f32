"""Where a text is divided: the labels of the protocol in every spelling, chat tokens, and what both mean.

The tables are the spellings; `find_labels` finds those at the start of a line, `find_inline` those within one.
Whether a label counts where it stands is decided in `sections`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from react_text.parsing.names import one_edit
from react_text.parsing.patterns import pattern

Kind: TypeAlias = Literal["thought", "action", "input", "observation", "final", "role", "assistant"]

PUBLISHED: dict[str, Kind] = {
    "Thought": "thought",
    "Action": "action",
    "Action Input": "input",
    "Observation": "observation",
    "Final Answer": "final",
}
"""The labels of the published format."""

SYNONYMS: dict[Kind, tuple[str, ...]] = {
    "thought": ("thoughts", "reasoning", "my thought", "thinking"),
    "action": (
        "actions", "tool", "tool name", "tool to use", "tool call", "action name", "next action", "function",
        "function name", "function call",
    ),
    "input": (
        "actioninput", "action inputs", "action arguments", "action args", "action parameters", "tool input",
        "tool inputs", "toolinput", "tool arguments", "tool args", "tool parameters", "input for action",
        "input to action", "input to the action", "function input", "function arguments", "function parameters",
    ),
    "observation": ("observations", "tool response", "tool output", "tool result", "action output", "action result"),
    "final": ("finalanswer", "answer", "final response", "final", "ai"),
    "role": ("question", "human", "user", "system", "instruction", "new question", "next question", "input question"),
    "assistant": ("assistant", "ai assistant"),
}  # fmt: skip
"""Other English spellings, in lower case with single spaces."""

SHORT_INPUTS = frozenset({"input", "inputs", "arguments", "args", "parameters", "params"})
"""Words that are an input label only right after an action."""

SHORT_RESULTS = frozenset({"result", "results", "output", "response"})
"""Words that are an observation label only right after an input."""

TRANSLATIONS: dict[str, dict[Kind, tuple[str, ...]]] = {
    "zh": {
        "thought": ("思考", "想法", "思路"), "action": ("行动", "动作", "操作", "工具"),
        "input": ("行动输入", "动作输入", "操作输入", "工具输入", "输入"), "observation": ("观察", "观察结果", "观测"),
        "final": ("最终答案", "最终回答", "答案", "回答"), "role": ("问题", "用户"),
    },
    "zh-Hant": {
        "thought": ("思考", "想法"), "action": ("行動", "動作"), "input": ("行動輸入", "動作輸入", "工具輸入", "輸入"),
        "observation": ("觀察", "觀察結果"), "final": ("最終答案", "最終回答"), "role": ("問題", "使用者"),
    },
    "ja": {
        "thought": ("思考", "考え"), "action": ("行動", "アクション"),
        "input": ("行動の入力", "行動入力", "アクション入力", "アクションの入力", "入力"),
        "observation": ("観察", "観測"),
        "final": ("最終回答", "最終的な回答", "最終的な答え", "回答", "答え"), "role": ("質問", "ユーザー"),
    },
    "ko": {
        "thought": ("생각", "사고"), "action": ("행동", "동작", "액션"),
        "input": ("행동 입력", "행동입력", "동작 입력", "액션 입력", "입력"), "observation": ("관찰", "관찰 결과"),
        "final": ("최종 답변", "최종답변", "최종 답", "최종 대답"), "role": ("질문", "사용자"),
    },
    "de": {
        "thought": ("gedanke", "gedanken", "überlegung"), "action": ("aktion", "handlung", "werkzeug"),
        "input": ("aktionseingabe", "aktion eingabe", "eingabe der aktion", "eingabe für aktion", "handlungseingabe",
                  "werkzeugeingabe", "eingabe"),
        "observation": ("beobachtung",),
        "final": ("endgültige antwort", "endantwort", "finale antwort", "abschließende antwort", "antwort"),
        "role": ("frage", "benutzer", "nutzer", "mensch"),
    },
    "es": {
        "thought": ("pensamiento", "razonamiento"), "action": ("acción", "accion", "herramienta"),
        "input": ("entrada de la acción", "entrada de acción", "entrada de la accion", "entrada de accion",
                  "entrada acción", "entrada", "entrada de la herramienta"),
        "observation": ("observación", "observacion"), "final": ("respuesta final", "respuesta"),
        "role": ("pregunta", "usuario", "humano"),
    },
    "fr": {
        "thought": ("pensée", "pensee", "réflexion", "raisonnement"), "action": ("outil",),
        "input": ("entrée de l'action", "entrée de l’action", "entrée de laction", "entrée d'action", "entrée action",
                  "entrée", "entrée de l'outil"),
        "observation": (), "final": ("réponse finale", "reponse finale", "réponse"),
        "role": ("utilisateur", "humain"),
    },
    "it": {
        "thought": ("pensiero", "ragionamento"), "action": ("azione", "strumento"),
        "input": ("input dell'azione", "input azione", "input dell’azione", "ingresso dell'azione"),
        "observation": ("osservazione",), "final": ("risposta finale", "risposta"), "role": ("domanda", "utente"),
    },
    "pt": {
        "thought": ("pensamento", "raciocínio"), "action": ("ação", "acao", "ferramenta"),
        "input": ("entrada da ação", "entrada de ação", "entrada da acao"), "observation": ("observação", "observacao"),
        "final": ("resposta final", "resposta"), "role": ("pergunta", "usuário", "utilizador"),
    },
    "nl": {
        "thought": ("gedachte",), "action": ("actie",),
        "input": ("actie invoer", "invoer van de actie"),
        "observation": ("waarneming", "observatie"), "final": ("definitief antwoord", "eindantwoord", "antwoord"),
        "role": ("vraag", "gebruiker"),
    },
    "pl": {
        "thought": ("myśl",), "action": ("akcja", "działanie"), "input": ("wejście akcji", "dane wejściowe akcji"),
        "observation": ("obserwacja",), "final": ("odpowiedź końcowa", "ostateczna odpowiedź", "odpowiedź"),
        "role": ("pytanie", "użytkownik"),
    },
    "ru": {
        "thought": ("мысль", "размышление"), "action": ("действие", "инструмент"),
        "input": ("ввод действия", "входные данные действия", "входные данные", "ввод", "вход действия",
                  "параметры действия"),
        "observation": ("наблюдение",),
        "final": ("финальный ответ", "окончательный ответ", "итоговый ответ", "ответ"),
        "role": ("вопрос", "пользователь", "человек"),
    },
    "uk": {
        "thought": ("думка",), "action": ("дія",), "input": ("вхідні дані дії", "введення дії"),
        "observation": ("спостереження",), "final": ("остаточна відповідь", "фінальна відповідь"), "role": ("питання",),
    },
    "sv": {
        "thought": ("tanke",), "action": ("åtgärd", "handling"), "input": ("åtgärdsinmatning", "indata för åtgärd"),
        "observation": ("iakttagelse",), "final": ("slutligt svar", "slutgiltigt svar"), "role": ("fråga",),
    },
    "cs": {
        "thought": ("myšlenka",), "action": ("akce",), "input": ("vstup akce",), "observation": ("pozorování",),
        "final": ("konečná odpověď",), "role": ("otázka",),
    },
    "tr": {
        "thought": ("düşünce",), "action": ("eylem",), "input": ("eylem girdisi", "eylem girişi"),
        "observation": ("gözlem",), "final": ("nihai cevap", "son cevap", "nihai yanıt"), "role": ("soru", "kullanıcı"),
    },
    "ar": {
        "thought": ("فكرة", "تفكير"), "action": ("إجراء", "الإجراء"), "input": ("مدخل الإجراء", "مدخلات الإجراء"),
        "observation": ("ملاحظة",), "final": ("الإجابة النهائية", "الجواب النهائي"), "role": ("سؤال",),
    },
    "hi": {
        "thought": ("विचार",), "action": ("क्रिया", "कार्रवाई"), "input": ("क्रिया इनपुट", "कार्रवाई इनपुट"),
        "observation": ("अवलोकन",), "final": ("अंतिम उत्तर",), "role": ("प्रश्न",),
    },
    "vi": {
        "thought": ("suy nghĩ",), "action": ("hành động",), "input": ("đầu vào hành động",),
        "observation": ("quan sát",), "final": ("câu trả lời cuối cùng",), "role": ("câu hỏi",),
    },
    "id": {
        "thought": ("pemikiran", "pikiran"), "action": ("aksi", "tindakan"), "input": ("masukan aksi", "input aksi"),
        "observation": ("pengamatan", "observasi"), "final": ("jawaban akhir",), "role": ("pertanyaan",),
    },
}  # fmt: skip
"""Labels in other languages, in lower case; each list's first entry is the usual one."""

_AFTER_ACTION_ONLY = frozenset({"输入", "輸入", "入力", "입력", "eingabe", "entrada", "entrée", "ввод"})


@dataclass(frozen=True, slots=True)
class Spelling:
    """What a label's words mean. `form` names the repair that its words take, "" for the published ones.

    `short` marks words that are a label only right after the section they belong to.
    """

    kind: Kind
    form: str = ""
    short: bool = False


def _spellings() -> dict[str, Spelling]:
    table: dict[str, Spelling] = {}
    for words, kind in PUBLISHED.items():
        table[words.casefold()] = Spelling(kind)
    for kind, words_of_kind in SYNONYMS.items():
        for words in words_of_kind:
            table.setdefault(words, Spelling(kind, "label_synonym"))
    for words in SHORT_INPUTS:
        table[words] = Spelling("input", "label_synonym", short=True)
    for words in SHORT_RESULTS:
        table[words] = Spelling("observation", "label_synonym", short=True)
    for language in TRANSLATIONS.values():
        for kind, words_of_kind in language.items():
            for words in words_of_kind:
                table.setdefault(words.casefold(), Spelling(kind, "label_translated", words in _AFTER_ACTION_ONLY))
    return table


SPELLINGS = _spellings()
_LONG: dict[str, Kind] = {
    words.replace(" ", "").casefold(): kind for words, kind in PUBLISHED.items() if len(words) > 6
}


@dataclass(slots=True)
class Label:
    """A label found in a text: from `start` to `end`, its words, and the repairs that its spelling takes.

    `heading` is the number of `#` before it; `bold` is True when marks opened before it are not closed in it.
    """

    kind: Kind
    start: int
    end: int
    words: str
    repairs: tuple[str, ...] = ()
    short: bool = False
    inline: bool = False
    heading: int = 0
    indent: int = 0
    bold: bool = False


_CANDIDATE = pattern(
    r"^[ \t\u00a0\u3000\ufeff\u200b]{0,40}"
    r"(?:([\[【#]|\*\*|__)(?=[^\w\n]{0,8}[^\W\d_])|[^\s:：﹕][^\n:：﹕]{0,60}[:：﹕])",
    re.MULTILINE,
)
"""The start of a line that may hold a label: an early colon, or marks that make one do without it."""

MOST_LINES = 50_000
"""Lines of one text that may hold a label and are looked at; in those after them none is found."""

_FRAME = " \t\u00a0\u3000\ufeff\u200b>#*_-•–`[]【】()0123456789."
_LETTERS = r"(?:[^\W\d_]|[\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u094f])+"
_LINE = pattern(
    r"""(?P<indent>[ \t\u00a0\u3000\ufeff\u200b]*)
    (?P<lead>(?:>\ *|[-*•–]\ +|\d{1,3}[.)]\ +){0,3})
    (?P<heading>\#{1,6}[ \t]*)?
    (?P<mark>\*{1,3}|_{1,3}|`)?
    (?P<bracket>[\[【])?
    (?P<words>LETTERS(?:[ \t\u00a0_\-'’]{1,2}LETTERS){0,4}(?=[\W\d_]|$))
    (?P<number>[ \t]?\#?\d{1,3}|[ \t]?\([\w ]{1,16}\))?
    (?P<close>[\]】])?
    (?P<mark_in>\*{1,3}|_{1,3}|`)?
    (?:(?P<gap>[ \t\u00a0\u3000]{0,4})(?P<colon>[:：﹕]+)(?P<mark_out>\*{1,3}|_{1,3}|`)?|[ \t]*$|(?<=[\]】]))
    """.replace("LETTERS", _LETTERS),
    re.MULTILINE | re.VERBOSE,
)
_INLINE = pattern(
    r"(?<![\w'“‘’`(*_\[<{/\n#])"
    r"(Action[ _]?Input|Tool[ _]?Input|ACTION[ _]INPUT|Action|ACTION|Tool|Observation|OBSERVATION|"
    r"Thought|THOUGHT|Final ?Answer|FINAL ANSWER|Input)(?: ?\d{1,3})?[ \t]?[:：](?![:/])"
)
CHAT_TOKEN = pattern(
    r"<\|[A-Za-z][\w.\- ]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|</?(?:start|end)_of_turn>|<eos>|<bos>|<EOT>|"
    r"\[/?INST\]|<</?SYS>>|</?s>(?=\s|\Z|<)|<\|[A-Za-z_]{0,20}\Z"
)
_HEADER = pattern(
    r"(?:\s*(?:<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>|<\|im_start\|>\s*assistant\b|"
    r"<start_of_turn>\s*model\b|<\|assistant\|>|<\|start\|>assistant|<\|begin_of_text\|>|<s>|<bos>|\[/INST\]|"
    r"<｜begin▁of▁sentence｜>|<｜Assistant｜>))+\s*"
)


def find_labels(text: str) -> Iterator[Label]:
    """Labels at the start of a line, in order; without a colon only as a heading, in brackets or in bold."""
    for candidate in islice(_CANDIDATE.finditer(text), MOST_LINES):
        start = candidate.start()
        if candidate[1] is None:
            published = PUBLISHED.get(candidate[0][:-1])
            if (
                published is not None
                and candidate[0][-1] == ":"
                and text[candidate.end() : candidate.end() + 1] not in "*_`:："
            ):
                yield Label(published, start, candidate.end(), candidate[0][:-1])
                continue
            words = _plain_words(candidate[0][:-1].split("(", 1)[0].strip(_FRAME))
            if words not in SPELLINGS and not _is_near(words):
                continue
        match = _LINE.match(text, start, min(len(text), start + 120))
        spelling = _spelling(_plain_words(match["words"])) if match else None
        if match is None or spelling is None:
            continue
        heading, marks = match["heading"], match["mark"] or ""
        if match["colon"] is None:
            marked = heading or (match["bracket"] and match["close"]) or (len(marks) > 1 and match["mark_in"])
            if not marked or spelling.short:
                continue
        yield Label(
            spelling.kind,
            start,
            match.end(),
            match["words"],
            _forms(match, spelling),
            spelling.short,
            heading=len(heading.strip()) if heading else 0,
            indent=len(match["indent"]),
            bold=bool(marks) and not match["mark_in"] and not match["mark_out"],
        )


def _spelling(words: str) -> Spelling | None:
    """What label words mean, also with one typing error in a long published one."""
    known = SPELLINGS.get(words)
    if known is None and _is_near(words):
        letters = words.replace(" ", "")
        return next(Spelling(kind, "label_spelling") for near, kind in _LONG.items() if one_edit(letters, near))
    return known


def _is_near(words: str) -> bool:
    letters = words.replace(" ", "")
    return 6 <= len(letters) <= 12 and any(one_edit(letters, near) for near in _LONG)


def _plain_words(words: str) -> str:
    return " ".join(words.replace("_", " ").replace("-", " ").split()).casefold()


def _forms(match: re.Match[str], spelling: Spelling) -> tuple[str, ...]:
    forms: list[str] = []
    if spelling.form:
        forms.append(spelling.form)
    elif match["words"] not in PUBLISHED:
        forms.append("label_spelling")
    if match["heading"] or match["mark"] or match["bracket"] or match["mark_out"] or match["lead"].strip():
        forms.append("label_marks")
    if match["number"]:
        forms.append("label_number")
    if match["colon"] not in (":", None) or match["gap"]:
        forms.append("label_colon")
    if match["indent"]:
        forms.append("layout")
    return tuple(forms)


def find_inline(text: str) -> Iterator[Label]:
    """Labels within a line, in the spelling with capitals, not directly after a quote or bracket."""
    for match in _INLINE.finditer(text):
        words = _plain_words(match[1])
        spelling = SPELLINGS[words]
        yield Label(spelling.kind, match.start(), match.end(), match[1], ("inline_label",), spelling.short, inline=True)


def header_end(text: str) -> int:
    """The offset after chat tokens that open an assistant turn, 0 where there are none."""
    header = _HEADER.match(text)
    return header.end() if header else 0


def is_label_piece(text: str) -> bool:
    """Whether a short text is a published label without its colon, or the first letters of one."""
    piece = text.strip(_FRAME + ":：").casefold()
    return len(piece) > 2 and any(words.casefold().startswith(piece) for words in PUBLISHED)
