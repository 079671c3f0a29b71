"""Rules of telling text from what is none, and of telling in which encoding it is."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.readers.decoding import decode
from tests.document_builders import read, reason, text

GERMAN = "Die Lösung läuft über Größe und Straße. Für die Änderung prüfen wir später."

CHINESE = "本系统用于管理仓库的入库和出库。请先安装依赖，然后运行脚本。"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8", GERMAN),
        ("utf-8-sig", GERMAN),
        ("utf-16", GERMAN),
        ("utf-16-le", GERMAN),
        ("utf-16-be", "# Plain\n\nwords"),
        ("utf-32", GERMAN),
        ("cp1252", GERMAN),
        ("cp1252", "/* Copyright (c) 2004 José Müller */\nint main(void) { return 0; }\n"),
        ("cp1252", "Une réparation a été effectuée à l'été, où ça coûte très cher."),
        ("cp1252", "It’s a “test” – isn’t it? It’s a “test” – isn’t it?"),
        ("gbk", CHINESE),
        ("gbk", "# 读取配置文件\ndef read_config(path):\n    # 返回字典\n    return {}\n"),
        ("big5", "本系統用於管理倉庫的入庫和出庫。請先安裝依賴，然後執行腳本。"),
        ("shift_jis", "このプログラムは在庫を管理します。まず依存関係をインストールしてください。"),
        ("euc_jp", "このプログラムは在庫を管理します。まず依存関係をインストールしてください。"),
        ("iso2022_jp", "このプログラムは在庫を管理します。まず依存関係をインストールしてください。" * 9),
        ("euc_kr", "이 프로그램은 재고를 관리합니다. 먼저 의존성을 설치하십시오."),
        ("cp1251", "Программа управляет складом. Сначала установите зависимости.\n"),
        ("cp1250", "Zażółć gęślą jaźń. Program zarządza magazynem, najpierw należy zainstalować zależności."),
        ("cp1253", "Το πρόγραμμα διαχειρίζεται την αποθήκη. Πρώτα εγκαταστήστε τις εξαρτήσεις."),
    ],
)
def test_text_in_the_encodings_of_the_world_is_read_as_written(encoding, text):
    """F2."""
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(128, 256)) * 3,
        b"# A\x81\xff\n\nx",
        "Une réparation a été effectuée à l'été.".encode("mac_roman") * 3,
        b"\xff\xfe\x00\xd8",
    ],
)
def test_what_no_encoding_explains_for_sure_is_left_out(data):
    """F2."""
    assert reason("a.md", data) == "encoding"


@pytest.mark.parametrize(
    "data", [b"x = 1\0", b"\x7fELF\x01\0\0\0" * 50, b"MZ\x90\0\x03" + b"\xff\xfe\0" * 90]
)
def test_what_is_no_text_is_binary(data):
    assert reason("a.py", data) == "binary"


@pytest.mark.parametrize("path", ["mail.txt", "note.md", "page.rst", "letter.adoc"])
@pytest.mark.parametrize("line", ["A long paragraph of many words goes on. " * 60, CHINESE * 60])
def test_prose_with_a_line_a_paragraph_is_never_minified(path, line):
    """F1."""
    found = read(path, f"{line}\n\n{line}\n".encode())
    assert len(found.records) > 1


def test_code_and_data_on_long_lines_with_hardly_a_space_are_minified():
    """F1."""

    assert reason("bundle.js", b"(function(a,b){return(a+b)})();" * 200) == "minified"
    assert reason("data.json", b'{"a":[1,2,3],"b":"c"},' * 200) == "minified"
    assert reason("jquery.min.js", b"var a = 1;\n") == "minified"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("shift_jis", "# encoding: shift_jis\nNAME = '値'\n"),
        ("koi8_r", "# -*- coding: koi8-r -*-\nNAME = 'да'\n"),
        ("iso8859-15", '<?xml version="1.0" encoding="ISO-8859-15"?>\n<a>Prix : 10 €, été</a>\n'),
        ("gbk", '<html><head><meta charset="gb2312"></head><body>欢迎</body></html>\n'),
        ("iso2022_jp", "# はじめに\n\n使い方を説明します。\n"),
    ],
)
def test_a_text_that_names_its_encoding_is_read_in_it(encoding, text):
    """F2."""
    assert decode(text.encode(encoding)) == text


def test_a_text_that_names_another_encoding_than_it_is_in_is_read_as_it_is():
    """F2."""
    assert decode(b"# coding: latin-1\n" + CHINESE.encode()).endswith(CHINESE)
    assert decode(b"# coding: ascii; charset=no-such\n" + CHINESE.encode("gbk")).endswith(CHINESE)


@pytest.mark.parametrize("path", ["a.md", "a.txt", "a.rst", "a.html"])
def test_a_word_with_marks_that_nobody_sees_is_found_by_the_word(path):
    """S1."""
    assert (
        text(path, "un\u00adbe\u00adliev\u00adable, in\u200bvisible and \ufeffwhole")
        == "unbelievable, invisible and whole"
    )
