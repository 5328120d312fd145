// Lint rules: the recommended ones of eslint and typescript-eslint, and the import directions' own test is test/architecture.test.ts.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

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
          'localStorage',
          'location',
          'navigator',
          'setTimeout',
          'TextEncoder',
          'window',
        ].map((name) => [name, 'readonly']),
      ),
    },
  },
  {
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-control-regex': 'off',
      eqeqeq: 'error',
    },
  },
);
