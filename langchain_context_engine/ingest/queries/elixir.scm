(call target: (identifier) @_word (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "when")
    (binary_operator left: (binary_operator operator: _ @name) operator: "when")])
  (#any-of? @_word "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp" "defdelegate" "defn" "defnp"))
  @definition.function
(call target: (identifier) @_word (arguments . (binary_operator operator: _ @name) (#not-eq? @name "when"))
  (#any-of? @_word "def" "defp" "defmacro" "defmacrop")) @definition.function
(call target: (identifier) @_word (arguments . (alias) @name)
  (#any-of? @_word "defmodule" "defprotocol" "defimpl")) @definition.class
(call target: (identifier) @_word (do_block) @body
  (#any-of? @_word "def" "defp" "defmacro" "defmacrop")) @definition.function
(call target: (identifier) @_word (do_block) @body
  (#any-of? @_word "defmodule" "defprotocol" "defimpl")) @definition.class
(call target: (identifier) @_word (arguments . (string) @name) (do_block)
  (#any-of? @_word "test" "property")) @definition.test
(call target: (identifier) @_word (arguments . (string) @name) (do_block) (#eq? @_word "describe")) @definition.group
(comment) @comment
(unary_operator operator: "@" operand: (call target: (identifier) @_word)
  (#any-of? @_word "doc" "spec" "impl" "deprecated" "since" "typedoc")) @attribute
(unary_operator operator: "@" operand: (call target: (identifier) @_word (arguments (string) @doc))
  (#eq? @_word "doc")) @attribute
(call target: (identifier) @_word (#any-of? @_word "alias" "import" "require")) @import
