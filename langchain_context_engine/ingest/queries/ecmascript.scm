[
  (function_declaration name: (_) @name)
  (generator_function_declaration name: (_) @name)
  (function_expression name: (_) @name)
  (generator_function name: (_) @name)
  (method_definition name: (_) @name)
] @definition.function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(assignment_expression left: [(identifier) (member_expression)] @name
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(pair key: (_) @name value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(export_statement value: [(arrow_function) (function_expression !name)]
  (#set! name "default")) @definition.function
(export_statement declaration: (function_declaration !name) (#set! name "default")) @definition.function

; what a call makes of a function: memo(forwardRef(…)), createAsyncThunk("…", async …), debounce(…)
(variable_declarator name: (identifier) @name
  value: (call_expression arguments: (arguments [(arrow_function) (function_expression)]))) @definition.value
(variable_declarator name: (identifier) @name value: (call_expression arguments: (arguments
  (call_expression arguments: (arguments [(arrow_function) (function_expression)]))))) @definition.value
(assignment_expression left: [(identifier) (member_expression)] @name
  right: (call_expression arguments: (arguments [(arrow_function) (function_expression)]))) @definition.value
(export_statement value: (call_expression arguments: (arguments [(arrow_function) (function_expression !name)]))
  (#set! name "default")) @definition.value
(export_statement value: (call_expression arguments: (arguments
  (call_expression arguments: (arguments [(arrow_function) (function_expression !name)]))))
  (#set! name "default")) @definition.value

(class_declaration name: (_) @name) @definition.class
(class name: (_) @name) @definition.class
(variable_declarator name: (identifier) @name value: (class)) @definition.class
(assignment_expression left: [(identifier) (member_expression)] @name right: (class !name)) @definition.class
(export_statement value: (class !name) (#set! name "default")) @definition.class

(variable_declarator name: (identifier) @name value: (object)) @definition.object
(variable_declarator name: (identifier) @name
  value: (call_expression arguments: (arguments (object)))) @definition.object
(assignment_expression left: [(identifier) (member_expression)] @name right: (object)) @definition.object
(pair key: (_) @name value: (object)) @definition.object
(export_statement value: (object) (#set! name "default")) @definition.object
(export_statement value: (call_expression arguments: (arguments (object))) (#set! name "default")) @definition.object

(call_expression
  function: [(identifier) @_word (member_expression object: (identifier) @_word)]
  arguments: (arguments . (_) @name [(arrow_function) (function_expression)])
  (#any-of? @_word "it" "test" "specify" "scenario" "xit" "fit" "bench")) @definition.test
(call_expression
  function: [(identifier) @_word (member_expression object: (identifier) @_word)]
  arguments: (arguments . (_) @name [(arrow_function) (function_expression)])
  (#any-of? @_word "describe" "context" "suite" "feature" "xdescribe" "fdescribe")) @definition.group

(comment) @comment
(decorator) @attribute
[(export_statement) (lexical_declaration) (variable_declaration) (expression_statement)] @wrap
(import_statement) @import
(arrow_function) @anonymous
(function_expression !name) @anonymous
(generator_function !name) @anonymous
