(function_declaration name: (_) @name) @definition.function
(function_declaration (function_body) @body) @definition.function
(class_declaration name: (_) @name) @definition.class
(class_declaration [(class_body) (enum_class_body)] @body) @definition.class
(object_declaration name: (_) @name) @definition.class
(object_declaration (class_body) @body) @definition.class
[(line_comment) (block_comment)] @comment
[(package_header) (import)] @import
(lambda_literal) @anonymous
