(function_definition name: (_) @name) @definition.function
(method_declaration name: (_) @name) @definition.function
[
  (class_declaration name: (_) @name)
  (interface_declaration name: (_) @name)
  (trait_declaration name: (_) @name)
  (enum_declaration name: (_) @name)
] @definition.class
(comment) @comment
[(namespace_use_declaration) (declare_statement) (php_tag)] @import
(namespace_definition !body) @import
(namespace_definition body: (_)) @frame
(function_call_expression function: (name) @_word arguments: (arguments . (argument (_) @name)
  (argument [(anonymous_function) (arrow_function)])) (#any-of? @_word "it" "test")) @definition.test
(anonymous_function) @anonymous
(arrow_function) @anonymous
