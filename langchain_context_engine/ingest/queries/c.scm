(function_definition declarator: (function_declarator declarator: (_) @name)) @definition.function
(function_definition declarator: (_ (function_declarator declarator: (_) @name))) @definition.function
(function_definition declarator: (_ (_ (function_declarator declarator: (_) @name)))) @definition.function
(struct_specifier name: (_) @name body: (_)) @definition.class
(union_specifier name: (_) @name body: (_)) @definition.class
(enum_specifier name: (_) @name body: (_)) @definition.class
(type_definition type: [
  (struct_specifier !name body: (_) @body)
  (union_specifier !name body: (_) @body)
  (enum_specifier !name body: (_) @body)] declarator: (type_identifier) @name) @definition.class
(type_definition) @wrap
(preproc_function_def name: (_) @name value: (_)? @body) @definition.macro
(preproc_def name: (_) @name value: (_)? @body) @definition.macro
(comment) @comment
(preproc_include) @import
