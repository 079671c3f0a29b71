(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.function
(class name: (_) @name) @definition.class
(assignment left: (constant) @name right: (call block: (_))) @definition.value
(module name: (_) @name) @definition.scope
(singleton_class) @frame
(call method: (identifier) @_word arguments: (argument_list . (_) @name) block: (_)
  (#any-of? @_word "it" "test" "specify" "scenario" "should")) @definition.test
(call method: (identifier) @_word arguments: (argument_list . (_) @name) block: (_)
  (#any-of? @_word "describe" "context" "suite" "feature")) @definition.group
(comment) @comment
(call method: (identifier) @_word !receiver (#any-of? @_word "require" "require_relative")) @import
