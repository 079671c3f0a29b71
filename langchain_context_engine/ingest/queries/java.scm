(method_declaration name: (_) @name) @definition.function
(constructor_declaration name: (_) @name) @definition.function
(compact_constructor_declaration name: (_) @name) @definition.function
[
  (class_declaration name: (_) @name)
  (interface_declaration name: (_) @name)
  (enum_declaration name: (_) @name)
  (record_declaration name: (_) @name)
  (annotation_type_declaration name: (_) @name)
] @definition.class
[(line_comment) (block_comment)] @comment
[(package_declaration) (import_declaration)] @import
(lambda_expression) @anonymous
(object_creation_expression (class_body)) @anonymous
