(class_specifier name: (_) @name body: (_)) @definition.class
(function_definition declarator: (operator_cast) @name) @definition.function
(namespace_definition name: (_) @name) @definition.scope
(namespace_definition !name) @frame
(linkage_specification body: (declaration_list)) @frame
(concept_definition name: (_) @name) @definition.class
(template_declaration) @wrap
(using_declaration) @import
(lambda_expression) @anonymous
(function_definition !type
  declarator: (function_declarator declarator: (identifier) @_word parameters: (_) @name)
  (#any-of? @_word "TEST" "TEST_F" "TEST_P" "TYPED_TEST" "TYPED_TEST_P" "BENCHMARK_F" "BENCHMARK_DEFINE_F"
    "FUZZ_TEST_F" "BOOST_AUTO_TEST_CASE" "BOOST_FIXTURE_TEST_CASE" "TEST_METHOD")) @definition.test
((expression_statement (call_expression
    function: (identifier) @_word arguments: (argument_list . (string_literal) @name))) @start
  . (compound_statement) @definition.test
  (#any-of? @_word "TEST_CASE" "TEST_CASE_METHOD" "TEST_CASE_FIXTURE" "TEMPLATE_TEST_CASE" "SCENARIO"
    "TEST_CASE_TEMPLATE"))
((expression_statement (call_expression
    function: (identifier) @_word arguments: (argument_list (_) (string_literal) @name))) @start
  . (compound_statement) @definition.test
  (#any-of? @_word "TEST_CASE_METHOD" "TEST_CASE_FIXTURE"))
