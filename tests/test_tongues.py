"""Questions in other languages than English ask for the newest, for a reason, for a place, as English ones do."""

from __future__ import annotations

import pytest

from langchain_context_engine import replay
from langchain_context_engine.ranking.aims import aims_of
from langchain_context_engine.ranking.answerability import holds
from langchain_context_engine.ranking.asked import asked_terms
from langchain_context_engine.ranking.latest import asks_for_latest
from langchain_context_engine.ranking.recency import FOR_ONE, FOR_SEVERAL, FOR_SOME, newest_of
from tests.builders import a_candidate
from tests.test_newest import an_engine, commits

BARE = {
    "最近何が変わりましたか?": FOR_SOME,
    "直近の変更は?": FOR_SOME,
    "最近3件のコミットを教えてください": 3,
    "最近有哪些修改?": FOR_SOME,
    "最近的提交是什么?": FOR_SOME,
    "Was wurde zuletzt geändert?": FOR_ONE,
    "die letzten 5 Commits": 5,
    "Quels sont les derniers changements ?": FOR_SEVERAL,
    "¿Cuál fue el último cambio?": FOR_ONE,
    "O que mudou recentemente?": FOR_ONE,
    "Quali sono le ultime modifiche?": FOR_SEVERAL,
    "Какое последнее изменение?": FOR_ONE,
    "최근 변경 사항은 무엇인가요?": FOR_SOME,
}
RELEASES = [
    "最新のリリースの内容は?",
    "最新版本有什么变化?",
    "Was ist neu in der neuesten Version?",
    "Quelle est la dernière version ?",
    "¿Cuáles son los cambios de la última versión?",
    "Qual é a última versão?",
    "Cosa c'è di nuovo nell'ultima versione?",
    "Что нового в последней версии?",
    "최신 릴리스는?",
]
ABOUT = {
    "最近のONNX Runtimeの更新は?": ("onnx", "runtim"),
    "認証に関する最新の変更は?": ("認証",),
    "Was ist die letzte Änderung am Router?": ("router",),
    "Quelle est la modification la plus récente du routeur ?": ("routeur",),
    "¿Qué cambió recientemente en el enrutador?": ("enrutador",),
    "Qual foi a última alteração no roteador?": ("roteador",),
    "Что изменилось недавно в маршрутизаторе?": ("маршрутизаторе",),
    "최근 인증 수정은 무엇입니까?": ("인증",),
}
OTHER = [
    "最近傍探索はどのように実装されていますか?",
    "最近使われていないキーの削除",
    "リストの最後の要素",
    "最近邻搜索怎么实现?",
    "最近最少使用缓存在哪里?",
    "列表的最后一个元素",
    "das letzte Element der Liste",
    "le dernier élément de la liste",
    "les éléments les moins récemment utilisés",
    "el último elemento de la lista",
    "l'ultimo elemento della lista",
    "последний элемент списка",
    "마지막 요소를 반환",
    "최근접 이웃 검색",
    "the last element of the list",
    "how is the least recently used entry evicted?",
    "what is the ultimate limit of a version?",
]


@pytest.mark.parametrize("query", BARE)
def test_a_question_for_the_newest_is_one_in_every_language(query):
    newest = newest_of(query)
    assert newest is not None
    assert (newest.about, newest.wanted, newest.is_release) == ((), BARE[query], False)
    assert asks_for_latest(query)


@pytest.mark.parametrize("query", RELEASES)
def test_the_newest_release_is_asked_for_in_every_language(query):
    newest = newest_of(query)
    assert newest is not None
    assert (newest.is_release, newest.about, newest.wanted) == (True, (), 1)


@pytest.mark.parametrize("query", ABOUT)
def test_what_is_named_beside_is_told_in_every_language(query):
    newest = newest_of(query)
    assert newest is not None
    assert newest.about == ABOUT[query]


@pytest.mark.parametrize("query", OTHER)
def test_the_last_of_what_has_no_order_of_time_is_none(query):
    assert newest_of(query) is None
    assert not asks_for_latest(query)


@pytest.mark.parametrize(
    ("query", "aims"),
    [
        ("なぜビルドをコメントアウトしたのですか?", ["history"]),
        ("プリセットのファイルはどこですか?", ["code"]),
        ("どのコミットがこれを直しましたか", ["commits"]),
        ("Warum wurde der Router entfernt?", ["history"]),
        ("Wie kann ich den Proxy konfigurieren?", ["use"]),
        ("Où est défini le routeur ?", ["code"]),
        ("Comment installer le client ?", ["use"]),
        ("¿Dónde se valida el token?", ["code"]),
        ("Como posso configurar o proxy?", ["use"]),
        ("Dove viene calcolato il prezzo?", ["code"]),
        ("Почему удалили маршрут?", ["history"]),
        ("어떻게 설치하나요?", ["use"]),
        ("哪个提交修复了它?", ["commits"]),
        ("为什么删除了这个函数?", ["history"]),
        ("come here, dove", []),
        ("a comment by comment review", []),
    ],
)
def test_what_a_question_is_after_is_read_in_every_language(query, aims):
    told = aims_of(query)
    assert [aim for aim in ("code", "use", "history", "commits") if getattr(told, aim)] == aims
    assert not any(getattr(aims_of(query, 7), aim) for aim in ("code", "use", "history", "commits"))


def test_what_changed_last_is_answered_in_order_of_time_whatever_the_language():
    context = an_engine(commits()).build("Was wurde zuletzt geändert?", budget=60)
    assert context.text.startswith("[1] Quiet work number 149")
    assert context.status == "ok"
    assert replay(context.to_dict()).text == context.text


def test_a_trace_of_the_rules_before_asks_for_no_newest():
    """Promise 9."""
    context = an_engine(commits(40)).build("Was wurde zuletzt geändert?", budget=60)
    trace = context.to_dict()
    trace["settings"]["fusion"]["edition"] = 7
    assert "149" not in replay(trace).text


def test_what_only_builds_a_japanese_sentence_is_not_looked_for():
    assert asked_terms("認証はどのようにおこなわれますか?") == ("認証",)
    assert asked_terms("認証はどのようにおこなわれますか?", 7) != ("認証",)
    assert asked_terms("どうすればよいですか") != ()


def test_missing_words_are_named_as_they_stand_in_the_question():
    notes = [a_candidate(id=f"n{i}", text=f"係留料は月末に支払う {i}") for i in range(40)]
    assert holds(notes, "動画を生成するにはどうすればよいですか?").missing == ("動画", "生成")
    assert holds(notes, "如何生成视频文件").missing == ("如何生成视频文件",)
    assert holds(notes, "係留料の動画は?").missing == ("動画",)
    assert "係留料" not in holds(notes, "ONNXの係留料").warning()


@pytest.mark.parametrize("weights", [None, {"recency": 1.0}])
@pytest.mark.parametrize("query", ["what changed last?", "最近何が変わりましたか?"])
def test_a_date_that_cannot_be_read_is_told_whatever_orders_by_time(query, weights):
    """E40."""
    dates = ["next week", "01/05/2024", "2024-05-01", 1_700_000_000]
    records = [{"id": f"r{i}", "text": f"berth {i}", "created_at": each} for i, each in enumerate(dates)]
    told = an_engine(records, weights=weights).build(query).warnings
    assert sum("2 of 4 candidates have no readable date" in warning for warning in told) == 1


def test_records_without_a_date_of_their_own_are_no_matter_of_warning():
    records = [{"id": "a", "text": "berth"}, {"id": "b", "text": "tide", "created_at": "2024-05-01"}]
    assert not [w for w in an_engine(records).build("what changed last?").warnings if "date" in w]
