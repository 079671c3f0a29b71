(function_declaration name: _ @name) @definition.function
(init_declaration (#set! name "init")) @definition.function
(deinit_declaration (#set! name "deinit")) @definition.function
(class_declaration name: (_) @name) @definition.class
(protocol_declaration name: (_) @name) @definition.class
[(comment) (multiline_comment)] @comment
(import_declaration) @import
(lambda_literal) @anonymous
