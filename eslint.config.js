// Lint rules: the recommended ones of eslint and typescript-eslint, and the import directions' own test is test/architecture.test.ts.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Refuses a spread of a literal, such as `...[a, b]` or `...{ a, b }`: it only keeps several members on a line. */
const noSpreadLiteral = {
  meta: { type: 'layout', fixable: 'code', schema: [] },
  create: (context) => ({
    SpreadElement(node) {
      const literal = ['TSAsExpression', 'TSSatisfiesExpression'].includes(node.argument.type)
        ? node.argument.expression
        : node.argument;
      const members = literal.elements ?? (literal.type === 'ObjectExpression' ? literal.properties : undefined);
      if (members === undefined) return;
      context.report({
        node,
        message: 'Write the members of this literal themselves.',
        fix(fixer) {
          const [open, close] = [context.sourceCode.getFirstToken(literal), context.sourceCode.getLastToken(literal)];
          const end = context.sourceCode.getTokenBefore(close);
          const inner = context.sourceCode.text.slice(open.range[1], end.value === ',' ? end.range[0] : close.range[0]);
          return members.length === 0 ? null : fixer.replaceText(node, inner);
        },
      });
    },
  }),
};

export default tseslint.config(
  { ignores: ['node_modules', 'data'] },
  eslint.configs.recommended,
  ...tseslint.configs.strict,
  {
    // what runs in browsers
    files: ['templates/**/*.js'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'AbortController',
          'addEventListener',
          'atob',
          'btoa',
          'crypto',
          'document',
          'Event',
          'localStorage',
          'location',
          'navigator',
          'setTimeout',
          'clearTimeout',
          'fetch',
          'URLSearchParams',
          'FormData',
          'DOMParser',
          'TextEncoder',
          'window',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    plugins: { gatehouse: { rules: { 'no-spread-literal': noSpreadLiteral } } },
    rules: {
      'gatehouse/no-spread-literal': 'error',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-control-regex': 'off',
      eqeqeq: 'error',
    },
  },
);
