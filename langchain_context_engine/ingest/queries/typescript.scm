(function_signature name: (_) @name) @definition.function
(abstract_class_declaration name: (_) @name) @definition.class
(interface_declaration name: (_) @name) @definition.class
(type_alias_declaration name: (_) @name) @definition.class
(enum_declaration name: (_) @name) @definition.class
(internal_module name: (_) @name) @definition.scope
(module name: (_) @name) @definition.scope
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @definition.function
(ambient_declaration) @wrap
