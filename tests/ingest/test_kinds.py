"""Rules of telling what a file is: its language, its encoding, what no person wrote, and what nothing reads."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langchain_context_engine.ingest import Splitter
from langchain_context_engine.ingest.languages import TABLES, language_of
from langchain_context_engine.ingest.readers.decoding import decode
from langchain_context_engine.ingest.reading import FORMATS, kind_of, read_records
from langchain_context_engine.ingest.report import SkippedError
from tests.document_builders import read, reason, text

NAMES = {
    "fortran": "a.f90 A.F90 old.f stdlib_sorting.fypp",
    "template": "layout.html.ep page.html.heex list.njk Index.cshtml view.jsp",
    "terraform": "terraform.tfvars main.tf",
    "makefile": "Makefile GNUmakefile Makefile.am rules.mk a.just",
    "dockerfile": "Dockerfile Dockerfile.dev",
    "shell": ".bashrc deploy.sh config.sh.in PKGBUILD",
    "dart": "a.dart",
    "php": "a.php sample.phps",
}


@pytest.mark.parametrize("language", NAMES)
def test_what_people_write_programs_in_is_code(language):
    """F: 640 files of Fortran were "unsupported", the whole of a library."""
    assert {language_of(name) for name in NAMES[language].split()} == {language}


NONE = "a.md a.txt a.json a.ini a.html go.mod a.pem a.diff a.svg a.tex a.log a.lock README LICENSE .env notes"


@pytest.mark.parametrize("name", NONE.split())
def test_what_is_no_program_is_none(name):
    assert language_of(name) is None


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.v", "Theorem t : True.\nProof. exact I. Qed.\n", "coq"),
        ("a.v", "`timescale 1ns/1ps\nmodule top(input a);\nendmodule\n", "verilog"),
        ("a.v", "module main\n\nfn main() {\n}\n", "v"),
        ("a.d", "module app.main;\nimport std.stdio;\nvoid main() {}\n", "d"),
        ("obj/a.d", "obj/a.o: src/a.c include/a.h\n", None),
        ("a.h", "namespace geo {\nclass Point {\n};\n}\n", "cpp"),
        ("a.h", "@interface Point : NSObject\n@end\n", "objc"),
        ("a.h", "int x(void);\n", "c"),
        ("a.m", 'BeginPackage["Harbour`"]\nberth[x_] := x^2\nEndPackage[]\n', "wolfram"),
        ("a.m", "function y = f(x)\n  y = x;\nend\n", "matlab"),
        ("a.m", "#import <Foundation/Foundation.h>\n", "objc"),
        ("a.cl", "__kernel void add(__global float *a) {\n}\n", "opencl"),
        ("a.cl", "(defun berth (x) x)\n", "lisp"),
        ("a.fs", "#version 330\nvoid main() {\n}\n", "shader"),
        ("a.fs", "module Harbour\nlet berth x = x + 1\n", "fsharp"),
        ("a.r", 'REBOL [Title: "harbour"]\nprint "berth"\n', "rebol"),
        ("a.r", "berth <- function(x) x + 1\n", "r"),
        ("a.pl", ":- module(a, []).\nlikes(x, y).\n", "prolog"),
        ("a.pl", "use strict;\nmy $x = 1;\n", "perl"),
        ("a.t", "use Test::More;\n", "perl"),
        ("a.t", "some words\n", None),
        ("a.ts", "export const x = 1\n", "typescript"),
        ("a.ts", '<?xml version="1.0"?>\n<TS version="2.1">\n', None),
        ("a.cls", "\\NeedsTeXFormat{LaTeX2e}\n\\ProvidesClass{a}\n", "tex"),
        ("a.html", "<h1>{{ title }}</h1>\n<p>Two words.</p>\n", "template"),
        (
            "a.html",
            f"<h1>Tides</h1>\n<p>{'High water comes late. ' * 10}</p>\n{{% include 'x.html' %}}\n",
            None,
        ),
        ("run", "#!/usr/bin/env -S FOO=1 python3.12 -u\n", "python"),
        ("run", "#!/bin/dash\n", "shell"),
    ],
)
def test_a_name_that_does_not_decide_leaves_it_to_what_the_file_says(path, text, language):
    """F5."""
    assert language_of(path, text.encode()) == language


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
        ("shift_jis", "名前,年齢,住所\n佐藤太郎,30,東京\n三木英子,25,大阪\n"),
        ("euc_jp", "このプログラムは在庫を管理します。まず依存関係をインストールしてください。"),
        ("iso2022_jp", "このプログラムは在庫を管理します。まず依存関係をインストールしてください。" * 9),
        ("euc_kr", "이 프로그램은 재고를 관리합니다. 먼저 의존성을 설치하십시오."),
        ("cp1251", "Программа управляет складом. Сначала установите зависимости.\n"),
        (
            "iso8859-2",
            "Zażółć gęślą jaźń. Program zarządza magazynem, najpierw należy zainstalować zależności.",
        ),
        ("cp1250", "Árvíztűrő tükörfúrógép. A találkozó holnap tízkor kezdődik."),
        ("cp1250", "Sastanak počinje sutra u deset sati. Čekamo vaš odgovor."),
        ("cp1254", "Şirketin adresi değişti. Lütfen güncelleyiniz."),
        ("cp1252", "Þetta er íslenskur texti með öðrum stöfum. Það var gott."),
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
        ("cp1252", '<meta charset="iso-8859-1"><p>Letters: éèîüçÅñæß</p>\n'),
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


def test_a_pointer_of_git_lfs_is_no_text():
    """R4."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    assert reason("data.csv", pointer) == "lfs"
    assert reason("model.md", pointer) == "lfs"
    assert reason("sheet.csv", b"\xef\xbb\xbf" + pointer.replace(b"\n", b"\r\n")) == "lfs"
    assert reason("old.csv", pointer.replace(b"git-lfs", b"hawser")) == "lfs"
    assert reason("far.csv", b"/annex/objects/SHA256E-s12345--abcdef.csv\n") == "annex"
    about = b"# LFS\n\nA pointer begins with\n\n    version https://git-lfs.github.com/spec/v1\n"
    assert read("about.md", about).records


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package-lock.json", "{}"),
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


def test_a_picture_within_a_document_is_no_passage():
    picture = "![plot](data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 400 + ")"
    found = read("a.md", f"# A\n\nBefore.\n\n{picture}\n\nAfter.\n".encode())
    assert "Before." in found.records[0].text
    assert "After." in found.records[-1].text
    assert "iVBOR" not in "".join(r.text for r in found.records)
    assert {s.reason for s in found.skipped} == {"data"}


@pytest.mark.parametrize(
    ("path", "head"),
    [("jq.asc", "PGP SIGNATURE"), ("notes.txt", "OPENSSH PRIVATE KEY"), ("ca.md", "CERTIFICATE")],
)
def test_a_signature_a_key_or_a_certificate_is_no_text(path, head):
    """Seen 3: 199 records of armour beside a program's documentation."""
    data = f"\n-----BEGIN {head}-----\n\niQIzBAABCAAdFiEEkwealRHvwLfWzb\n-----END {head}-----\n".encode()
    assert reason(path, data) == "generated"
    assert read("a.md", b"A key begins with `-----BEGIN`.").records


def test_a_text_without_a_suffix_is_plain_text_where_it_says_something():
    sheet = b"# Extract an archive\ntar -xzf archive.tar.gz\n"
    (record,) = read("sheets/tar", sheet).records
    assert "tar -xzf" in record.text
    sheet += b"\n# A comment of two lines\n# is no heading of two sections\ntar -cf a.tar b\n"
    (record,) = read("sheets/tar", sheet).records
    assert record.metadata["place"] == "sheets/tar:1-6"
    assert kind_of("docs/CNAME", b"www.harbor.example\n") is None
    assert kind_of("bin/tool", b"\x7fELF\0 some words of a program here") is None
    assert kind_of(".gitignore", b"# what nobody wants to have in here\n*.pyc\n") is None


@pytest.mark.parametrize("between", ["", "\n"])
def test_the_addresses_that_links_lead_to_are_no_passage_and_footnotes_are(between):
    """Seen: a passage of eight lines `[Name]: https://…` for a question about one of the names."""
    links = "".join(f"[Berth{i}]: https://example.org/berths/{i} 'Berth {i}'\n{between}" for i in range(6))
    text = f"# Berths\n\nEach has a [page][Berth1].\n\n{links}\n[^1]: Paid monthly.\n\n[one]: https://a.org\n"
    told = "".join(r.text for r in read("a.md", text.encode()).records)
    assert "example.org" not in told
    assert "Each has a" in told
    assert "Paid monthly" in told
    assert "[one]: https://a.org" in told


@pytest.mark.parametrize(
    ("path", "head"),
    [("data.1", b"0.1 0.2 0.3\n"), ("libfoo.so.2", b"some words of a text that is no manual page\n"),
     ("server.key", b"-----BEGIN PRIVATE KEY-----\n"), (".env", b"TOKEN=a secret of somebody who wrote it\n")],
)  # fmt: skip
def test_what_only_looks_like_one_is_none(path, head):
    assert kind_of(path, head) is None


def test_a_drawing_is_left_out():
    drawing = '<?xml version="1.0"?>\n<!-- ours -->\n<vector a="b"><path d="M0,0h1v2z"/></vector>'
    assert reason("icon.xml", drawing) == "unsupported"


assert TABLES["formats"].keys() == FORMATS.keys()

SUFFIXES = [".py", ".js", ".rs", *(names.split()[0] for names in TABLES["formats"].values())]

TOKENS = st.sampled_from(
    ["# ", "## ", "```", "~~~", "---", "===", "<!--", "-->", "<h1>", "</h1>", "<p>", "<script>", "{", "}", "[", "]",
     "(", ")", '"', "'", "'''", "\\", "//", "/*", "*/", ":", ",", ";", "=", "- ", "+", "|", "> ", "<", "&a ", "*a",
     "!!x", "@", "$", "%", "def ", "class ", "function ", "=>", "fn ", "impl ", '{"cells":[', '"source":', '"text":',
     "From: ", "Subject: ", "From ", ".. ", "::", "\n", "\n\n", "\t", "\r\n", "\0", "\ufeff", "\f", "\u2028", "é", "中",
     "😀", "word ", "1", "2026-01-05", "(2026-08-04)", "%PDF-1.4", "PK\3\4", "=?utf-8?b?", "<<EOF"]
)  # fmt: skip

GARBAGE = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(TOKENS, max_size=60).map(lambda parts: "".join(parts).encode("utf-8", "replace")),
)


def checked(path, data, chunk_size=200):
    try:
        found = read_records(path, data, splitter=Splitter(chunk_size=chunk_size), metadata={"created_at": 1})
    except SkippedError as left_out:
        assert left_out.reason  # noqa: PT017
        return ()
    assert found.kind == kind_of(path, data[:8192])
    assert len({r.id for r in found.records}) == len(found.records)
    starts = [r.metadata["start"] for r in found.records]
    assert starts == sorted(starts)
    for record in found.records:
        assert record.text.strip()
        record.text.encode()
        assert record.metadata["place"].startswith(path)
        assert record.metadata["document"] == path
        assert 0 <= record.metadata["start"] <= record.metadata["end"]
    return found.records


@pytest.mark.unmeasured
@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(deadline=None, max_examples=16, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=GARBAGE)
def test_a_document_of_garbage_gives_records_or_a_reason(suffix, data):
    checked(f"a{suffix}", data)
