(function_definition name: (_) @name) @definition.function
(function_definition body: (block . (comment)* . (expression_statement (string) @doc))) @definition.function
(class_definition name: (_) @name) @definition.class
(class_definition body: (block . (comment)* . (expression_statement (string) @doc))) @definition.class
(module . (comment)* . (expression_statement (string) @doc)) @module
(comment) @comment
(decorator) @attribute
(module [(import_statement) (import_from_statement) (future_import_statement)] @import)
(expression_statement (assignment left: (identifier) @_left (#eq? @_left "__all__"))) @import
(if_statement
  condition: [(identifier) @_when (attribute attribute: (identifier) @_when)]
  consequence: (block . [(import_statement) (import_from_statement)]+ .)
  (#eq? @_when "TYPE_CHECKING")) @import
