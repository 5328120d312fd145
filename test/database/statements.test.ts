// A name belongs to one statement only, since a connection runs what it prepared under a name, whatever text is sent with it.
import { expect, test } from 'vitest';
import { composedStatement, batchedStatement, statement } from '../../src/database/database.ts';

test('a second text under the name of another statement is refused at its first use (security R125)', () => {
  expect(statement('test.two_texts', 'SELECT 1').name).toBe('test.two_texts');
  expect(statement('test.two_texts', 'SELECT 1').text).toBe('SELECT 1');
  expect(() => statement('test.two_texts', 'SELECT 2')).toThrow('two statements have the name test.two_texts');
  expect(() => batchedStatement('read', 'test.two_texts', 'SELECT 2')).toThrow('two statements have the name');
  batchedStatement('read', 'test.shared', 'SELECT 1', 'SELECT 2');
  expect(() => statement('test.shared.many', 'SELECT 3')).toThrow('two statements have the name');
});

test('a name that PostgreSQL would truncate is refused (security R125)', () => {
  expect(statement('test.'.padEnd(63, 'x'), 'SELECT 1').text).toBe('SELECT 1');
  expect(() => statement('test.'.padEnd(64, 'y'), 'SELECT 1')).toThrow('is too long');
});

test('a statement that is composed of filters has a separate name for each text (security R125)', () => {
  const first = composedStatement('test.list', 'SELECT 1');
  expect(composedStatement('test.list', 'SELECT 1')).toEqual(first);
  expect(composedStatement('test.list', 'SELECT 2').name).not.toBe(first.name);
});
