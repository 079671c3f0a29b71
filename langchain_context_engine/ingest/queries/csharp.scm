(method_declaration name: (_) @name) @definition.function
(constructor_declaration name: (_) @name) @definition.function
(local_function_statement name: (_) @name) @definition.function
[
  (class_declaration name: (_) @name)
  (interface_declaration name: (_) @name)
  (struct_declaration name: (_) @name)
  (record_declaration name: (_) @name)
  (enum_declaration name: (_) @name)
] @definition.class
(namespace_declaration name: (_) @name) @definition.scope
(comment) @comment
[(using_directive) (file_scoped_namespace_declaration)] @import
(lambda_expression) @anonymous
