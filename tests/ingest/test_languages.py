"""Rules of telling a file's language: by its name, its first line, or what it says where several share a suffix."""

from __future__ import annotations

import pytest

from langchain_context_engine.ingest.languages import language_of
from langchain_context_engine.ingest.outline import GRAMMARS
from tests.growth import assert_linear, repeated


@pytest.mark.parametrize(
    ("names", "language"),
    [
        ("a.f90 A.F90 old.f stdlib_sorting.fypp", "fortran"),
        ("build.zig.zon main.zig", "zig"),
        ("a.adb a.ads", "ada"),
        ("layout.html.ep mail.txt.epl page.html.heex list.njk Index.cshtml view.jsp", "template"),
        ("terraform.tfvars job.nomad main.tf", "terraform"),
        ("BUILD.bazel rules.bzl Tiltfile", "starlark"),
        ("meson.build meson_options.txt", "meson"),
        ("flow.mmd graph.dot design.puml", "diagram"),
        ("fast.pyx fast.pxd", "cython"),
        ("cpanfile app.psgi", "perl"),
        ("a.vhdl", "vhdl"),
        ("schema.thrift api.capnp", "idl"),
        ("Makefile GNUmakefile Makefile.am rules.mk", "makefile"),
        ("Dockerfile Dockerfile.dev", "dockerfile"),
        (".bashrc deploy.sh config.sh.in PKGBUILD", "shell"),
        ("a.sml", "sml"),
        ("a.dart", "dart"),
        ("a.smithy", "smithy"),
    ],
)
def test_what_people_write_programs_in_is_code(names, language):
    """F: 640 files of Fortran were "unsupported", the whole of a library."""
    assert {name: language_of(name) for name in names.split()} == dict.fromkeys(names.split(), language)


@pytest.mark.parametrize(
    "name",
    [
        "a.md",
        "a.txt",
        "a.json",
        "a.yaml",
        "a.toml",
        "a.ini",
        "a.rst",
        "a.html",
        "go.mod",
        "a.pem",
        "id_rsa.asc",
        "a.diff",
        "a.po",
        "a.svg",
        "a.tex",
        "a.log",
        "a.lock",
        "README",
        "LICENSE",
        ".env",
        "notes",
    ],
)
def test_what_is_no_program_is_none(name):
    assert language_of(name) is None


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.v", "Theorem t : True.\nProof. exact I. Qed.\n", "coq"),
        ("a.v", "`timescale 1ns/1ps\nmodule top(input a);\nendmodule\n", "verilog"),
        ("a.v", "module main\n\nfn main() {\n}\n", "v"),
        ("a.v", "fn main() {\n\tprintln('x')\n}\n", "v"),
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
        ("a.cls", "public class Harbour {\n}\n", "apex"),
        ("run", "#!/usr/bin/env -S FOO=1 python3.12 -u\n", "python"),
        ("run", "#!/bin/dash\n", "shell"),
        ("_tea", "#compdef tea\n_arguments '--hot[Serve hot]'\n", "shell"),
        ("notes", "#compdefinitely not\n", None),
    ],
)
def test_a_name_that_does_not_decide_leaves_it_to_what_the_file_says(path, text, language):
    """F5."""
    assert language_of(path, text.encode()) == language


def test_every_grammar_has_files():
    suffixes = "py js ts tsx go rs java c cpp cs rb php kt swift scala lua ex sh"
    assert {language_of(f"a.{suffix}") for suffix in suffixes.split()} == set(GRAMMARS)


@pytest.mark.parametrize("suffix", ["h", "m", "pl", "v", "d", "cls", "r", "ts", "html"])
@pytest.mark.parametrize("piece", ["  ", "a", "class ", "<!--", "{%", "a[", "\n", "import a"])
def test_a_language_is_told_in_linear_time(suffix, piece):
    assert_linear(lambda text: language_of(f"a.{suffix}", text.encode()), repeated(piece), 60_000)
