(function_declaration name: (_) @name) @definition.function
(method_declaration name: (_) @name) @definition.function
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (type_identifier) @owner
  (pointer_type (type_identifier) @owner)
  (generic_type type: (_) @owner)
  (pointer_type (generic_type type: (_) @owner))]))) @definition.function
(type_spec name: (_) @name) @definition.class
(type_alias name: (_) @name) @definition.class
(type_declaration . (_) .) @wrap
(comment) @comment
[(package_clause) (import_declaration)] @import
(func_literal) @anonymous
