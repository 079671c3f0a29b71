(function_definition name: (_) @name) @definition.function
[
  (class_definition name: (_) @name)
  (object_definition name: (_) @name)
  (trait_definition name: (_) @name)
  (enum_definition name: (_) @name)
] @definition.class
[(comment) (block_comment)] @comment
[(package_clause !body) (import_declaration)] @import
(package_clause body: (_)) @frame
(lambda_expression) @anonymous
