"""Rules of telling text from what is none, and of telling in which encoding it is."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.readers.decoding import decode, is_minified
from langchain_context_engine.ingest.reading import kind_of, read_records
from langchain_context_engine.ingest.skipped import SkippedError

GERMAN = "Die Lösung läuft über Größe und Straße. Für die Änderung prüfen wir später."
CHINESE = "本系统用于管理仓库的入库和出库。请先安装依赖，然后运行脚本。"


def reason(path, data):
    with pytest.raises(SkippedError) as left_out:
        read_records(path, data, splitter=Splitter())
    return left_out.value.reason


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
    read = read_records(path, f"{line}\n\n{line}\n".encode(), splitter=Splitter())
    assert len(read.records) > 1


def test_a_query_on_one_long_line_is_no_minified_code():
    """F1."""
    query = "SELECT name, total FROM orders WHERE total > 100 AND state = 'open' OR " * 40
    assert read_records("q.sql", query.encode(), splitter=Splitter()).records


def test_code_and_data_on_long_lines_with_hardly_a_space_are_minified():
    """F1."""
    assert is_minified("function(a,b){return a+b};" * 200)
    assert reason("bundle.js", b"(function(a,b){return(a+b)})();" * 200) == "minified"
    assert reason("data.json", b'{"a":[1,2,3],"b":"c"},' * 200) == "minified"
    assert reason("jquery.min.js", b"var a = 1;\n") == "minified"


def test_a_pointer_of_git_lfs_is_no_text():
    """R4."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    assert reason("data.csv", pointer) == "lfs"
    assert reason("model.md", pointer) == "lfs"
    assert reason("sheet.csv", b"\xef\xbb\xbf" + pointer.replace(b"\n", b"\r\n")) == "lfs"
    assert reason("old.csv", pointer.replace(b"git-lfs", b"hawser")) == "lfs"
    assert reason("far.csv", b"/annex/objects/SHA256E-s12345--abcdef.csv\n") == "annex"
    about = b"# LFS\n\nA pointer begins with\n\n    version https://git-lfs.github.com/spec/v1\n"
    assert read_records("about.md", about, splitter=Splitter()).records


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


def test_letters_of_two_scripts_in_one_word_are_a_wrong_guess():
    """F2."""
    assert reason("prices.txt", "Prix : 10 €, été".encode("iso8859-15")) == "encoding"


def test_data_in_a_language_that_parts_no_words_is_not_minified():
    """F1."""
    assert not is_minified('{"text":"' + CHINESE * 100 + '"}')


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package-lock.json", "{}"),
        ("web/yarn.lock", "a@1:\n"),
        ("Cargo.lock", "[[package]]\n"),
        ("go.sum", "a v1 h1:x\n"),
        ("api.pb.go", "// Code generated by protoc-gen-go. DO NOT EDIT.\n\npackage api\n"),
        ("schema.ts", "/**\n * @generated SignedSource<<0>>\n */\nexport type A = 1;\n"),
        ("parser.c", "/* A Bison parser, made by GNU Bison 3.8.2.  */\nint x;\n"),
        (
            "a.cc",
            "// Generated by the gRPC C++ plugin.\n// If you make any local change, they will be lost.\n",
        ),
        (
            "A.cs",
            "// This code was generated by a tool.\n// Changes to this file will be lost if run anew.\n",
        ),
        ("a/config.h", "/* a/config.h.  Generated from config.h.in by configure.  */\nint x;\n"),
        ("api/A.html", "<html><head>\n<!-- Generated by javadoc (1.8) on Wed Jan 07 --></head><body>A"),
        ("api/B.html", '<html><head><link rel="stylesheet" href="../css/jazzy.css" /></head><body>B'),
    ],
)
def test_lock_files_and_what_says_that_it_is_generated_are_left_out(path, text):
    assert kind_of(path, text.encode()) is not None
    assert reason(path, text.encode()) == "generated"


@pytest.mark.parametrize(
    "text",
    [
        '"""Finds files that are generated."""\nMARK = "@generated"\n',
        "# Writes the generated report.\ndef f():\n    return 1\n",
        "x = 1\n" * 600 + "# Code generated. DO NOT EDIT.\n",
        "# This wraps the module that is generated by SWIG.\nx = 1\n",
        "# Changes that nobody saved will be lost.\nx = 1\n",
    ],
)
def test_code_about_generated_files_is_read(text):
    assert read_records("a.py", text.encode(), splitter=Splitter()).records
    page = f"<html><body>How javadoc and css/jazzy.css work<pre>{text}</pre></body></html>"
    assert read_records("a.html", page.encode(), splitter=Splitter()).records


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        (".bashrc", "export EDITOR=vi\n", "shell"),
        ("home/.vimrc", "set number\n", "vim"),
        ("config.h.in", '#define VERSION "@VERSION@"\n', "c"),
        ("geo.h", "#pragma once\nnamespace geo {\nclass Point { public: int x; };\n}\n", "cpp"),
        ("geo.h", "#include <vector>\nstd::vector<int> f();\n", "cpp"),
        ("geo.h", "/* a class of points */\nstruct point { int x; };\nint f(struct point p);\n", "c"),
        ("View.h", "#import <UIKit/UIKit.h>\n@interface View : UIView\n@end\n", "objc"),
        ("fit.m", "% Fits a line.\nfunction y = fit(x)\n  y = x;\nend\n", "matlab"),
        ("View.m", '#import "View.h"\n@implementation View\n@end\n', "objc"),
        ("family.pl", ":- use_module(library(lists)).\nparent(a, b).\n", "prolog"),
        ("run.pl", "use strict;\nmy $x = 1;\n", "perl"),
        ("app.ts", "export const a = 1;\n", "typescript"),
        ("deploy", "#!/usr/bin/env -S python3 -u\nprint(1)\n", "python"),
        ("build", "#!/bin/bash\nmake\n", "shell"),
        ("Dockerfile", "FROM a\n", "dockerfile"),
        ("GNUmakefile", "all:\n", "makefile"),
    ],
)
def test_the_language_is_told_by_content_where_the_name_does_not_say(path, head, language):
    """F5."""
    assert kind_of(path, head.encode()) == "code"
    record = read_records(path, head.encode(), splitter=Splitter()).records[0]
    assert record.metadata["language"] == language


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("video.ts", b"G\x40\x11\x10\0\x42"),
        ("app_de.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>\n'),
        ("photo.png", b"\x89PNG"),
        ("unknown", b"just text"),
    ],
)
def test_what_nothing_reads_is_unsupported(path, head):
    assert kind_of(path, head) is None


def test_a_picture_within_a_document_is_no_passage():
    picture = "![plot](data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 400 + ")"
    read = read_records("a.md", f"# A\n\nBefore.\n\n{picture}\n\nAfter.\n".encode(), splitter=Splitter())
    assert "Before." in read.records[0].text
    assert "After." in read.records[-1].text
    assert "iVBOR" not in "".join(r.text for r in read.records)
    assert {s.reason for s in read.skipped} == {"data"}


@pytest.mark.parametrize(
    ("path", "head"),
    [("jq.asc", "PGP SIGNATURE"), ("notes.txt", "OPENSSH PRIVATE KEY"), ("ca.md", "CERTIFICATE")],
)
def test_a_signature_a_key_or_a_certificate_is_no_text(path, head):
    """Seen 3: 199 records of armour beside a program's documentation."""
    data = f"\n-----BEGIN {head}-----\n\niQIzBAABCAAdFiEEkwealRHvwLfWzb\n-----END {head}-----\n".encode()
    with pytest.raises(SkippedError) as left_out:
        read_records(path, data, splitter=Splitter())
    assert left_out.value.reason == "generated"
    assert read_records("a.md", b"A key begins with `-----BEGIN`.", splitter=Splitter()).records


@pytest.mark.parametrize(
    "path",
    [".inputrc", "phpunit.xml.dist", "Preferences.sublime-settings", "xmonad.cabal", "phpstan.neon.dist"],
)
def test_settings_of_tools_are_read_by_their_names(path):
    assert kind_of(path, b"") == "docs"


def test_a_text_without_a_suffix_is_plain_text_where_it_says_something():
    sheet = b"# Extract an archive\ntar -xzf archive.tar.gz\n"
    (record,) = read_records("sheets/tar", sheet, splitter=Splitter()).records
    assert "tar -xzf" in record.text
    sheet += b"\n# A comment of two lines\n# is no heading of two sections\ntar -cf a.tar b\n"
    (record,) = read_records("sheets/tar", sheet, splitter=Splitter()).records
    assert record.metadata["place"] == "sheets/tar:1-6"
    assert kind_of("docs/CNAME", b"www.harbor.example\n") is None
    assert kind_of("bin/tool", b"\x7fELF\0 some words of a program here") is None
    assert kind_of(".gitignore", b"# what nobody wants to have in here\n*.pyc\n") is None


TABLE = ",\n".join(", ".join(f"0x{n * 7 + k:x}u" for k in range(8)) for n in range(120))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("utf8.c", f"static const unsigned lengths[] = {{\n{TABLE}\n}};\n\nint width(int c) {{ return c > 127; }}\n"),
        ("logo.py", f'LOGO = """\n{"iQIzBAABCAAdFiEE" * 300}\n"""\n\n\ndef width(c):\n    return len(c)\n'),
    ],
)  # fmt: skip
def test_data_within_a_program_is_no_record_but_what_stands_around_it_is(path, text):
    found = read_records(path, text.encode(), splitter=Splitter())
    assert {r.metadata.get("symbol") for r in found.records} >= {"width"}
    assert sum(len(r.text) for r in found.records) < len(text) / 2
    assert [(s.where, s.reason) for s in found.skipped] == [(path, "data")]
    assert "of data" in found.skipped[0].detail


def test_a_short_list_of_numbers_and_a_named_table_are_read():
    text = f"int limits[] = {{1, 2, 3}};\n\n#define TABLE {{ {TABLE[:400].replace(chr(10), ' ')} }}\n"
    found = read_records("a.c", text.encode(), splitter=Splitter())
    assert "limits" in found.records[0].text
    assert not found.skipped


def test_the_addresses_that_links_lead_to_are_no_passage_and_footnotes_are():
    """Seen: a passage of eight lines `[Name]: https://…` for a question about one of the names."""
    links = "".join(f"[Berth{i}]: https://example.org/berths/{i} 'Berth {i}'\n" for i in range(6))
    text = f"# Berths\n\nEach has a [page][Berth1].\n\n{links}\n[^1]: Paid monthly.\n\n[one]: https://a.org\n"
    told = "".join(r.text for r in read_records("a.md", text.encode(), splitter=Splitter()).records)
    assert "example.org" not in told
    assert "Each has a" in told
    assert "Paid monthly" in told
    assert "[one]: https://a.org" in told
