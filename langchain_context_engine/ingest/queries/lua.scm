(function_declaration name: (_) @name) @definition.function
(assignment_statement (variable_list . name: (_) @name)
  (expression_list . value: (function_definition))) @definition.function
(assignment_statement (variable_list . name: (_) @name)
  (expression_list . value: (table_constructor))) @definition.object
(field name: (_) @name value: (function_definition)) @definition.function
(field name: (_) @name value: (table_constructor)) @definition.object
(function_call name: (identifier) @_word arguments: (arguments . (string) @name (function_definition))
  (#any-of? @_word "it" "test" "specify" "pending")) @definition.test
(function_call name: (identifier) @_word arguments: (arguments . (string) @name (function_definition))
  (#any-of? @_word "describe" "context" "insulate")) @definition.group
(comment) @comment
(variable_declaration) @wrap
(function_definition) @anonymous
