(function_item name: (_) @name) @definition.function
(macro_definition name: (_) @name) @definition.function
(struct_item name: (_) @name) @definition.class
(enum_item name: (_) @name) @definition.class
(union_item name: (_) @name) @definition.class
(trait_item name: (_) @name) @definition.class
(impl_item type: [
  (type_identifier) @name
  (primitive_type) @name
  (scoped_type_identifier) @name
  (generic_type type: (_) @name)
  (reference_type type: (_) @name)]) @definition.class
(mod_item name: (_) @name body: (_)) @definition.scope
(foreign_mod_item) @frame
[(line_comment) (block_comment)] @comment
(attribute_item) @attribute
[(use_declaration) (extern_crate_declaration)] @import
(mod_item !body) @import
(closure_expression) @anonymous
(macro_invocation macro: (identifier) @_word (token_tree . (identifier) @name) (#match? @_word "test"))
  @definition.test
