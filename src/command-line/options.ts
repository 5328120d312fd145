// Derives the options of a command from the input schema of its operation, and turns the typed values into that input.
import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import type { Operation, OperationCommand } from '../admin/operations/operation.ts';
import { isTextClaim } from '../rules/users/administration.ts';
import { type Options, type Terminal, UsageError } from './command.ts';
import { ofTheFile } from './file.ts';

/** A field of an operation's input on the command line. */
export interface Field {
  name: string;
  /** The option; undefined for an argument. */
  option: string | undefined;
  /**
   * `pairs` are name=value, `input` is read from standard input, `file` names a file that is sent in base64, `json` is an object in
   * JSON, `json-file` names a file with one, and `text-file` a file with a text, whose last line end does not count.
   */
  kind:
    'flag' | 'text' | 'time' | 'number' | 'choice' | 'pairs' | 'input' | 'file' | 'json' | 'json-file' | 'text-file';
  choices: string[];
  /** Whether the command line refuses other choices. */
  strict: boolean;
  many: boolean;
  /** The value by which a change empties the member; undefined if it must have another one. */
  empty: unknown;
  /** Whether pairs are merged into the present ones, and null removes one. */
  merged: boolean;
  required: boolean;
  range: { minimum?: number; maximum?: number };
  help: string;
}

interface Schema {
  /** A list where null is allowed, too. */
  type?: string | string[];
  enum?: string[];
  format?: string;
  items?: Schema;
  anyOf?: Schema[];
  description?: string;
  writeOnly?: boolean;
  minimum?: number;
  maximum?: number;
}

/** The maximum number of items of a list. */
const maxLimit = 10_000;

/** The fields of the input: first its arguments, then its options. */
export function fieldsOf(operation: Operation, command: OperationCommand): Field[] {
  const shape = shapeOf(operation);
  const given = command.arguments ?? [];
  const offered = Object.entries(
    command.options ??
      Object.fromEntries(
        Object.keys(shape)
          .filter((name) => name !== 'cursor' && !given.includes(name))
          .map((name) => [name === 'q' ? 'search' : name.replaceAll('_', '-'), name]),
      ),
  );
  return [...given.map((name) => [undefined, name] as const), ...offered].map(([option, name]) => {
    const field = fieldOf(name, shape[name]!, option);
    const kind = command.forms?.[name] ?? field.kind;
    const merged = command.merged?.includes(name) ?? false;
    const required = field.required || (command.required?.includes(name) ?? false);
    // a handler that checks more than the schema reports a wrong choice itself
    return { ...field, kind, merged, required, strict: !operation.documentedInput };
  });
}

function shapeOf(operation: Operation): Record<string, z.ZodType> {
  // only the names and kinds of the fields matter here, so any password length will do
  const input = operation.documentedInput ?? operation.input?.({ passwordMinLength: 1 });
  return { ...(input as z.ZodObject | undefined)?.shape, ...optional(operation.internalInput?.shape) };
}

const optional = (shape: Record<string, z.ZodType> = {}) =>
  Object.fromEntries(Object.entries(shape).map(([name, rule]) => [name, rule.optional()]));

const typeOf = ({ type = '' }: Schema): string => [type].flat().find((name) => name !== 'null') ?? '';

/** What empties a member, whatever its rule is. */
const emptyValues = [null, [], false, {}];

function fieldOf(name: string, rule: z.ZodType, option: string | undefined): Omit<Field, 'strict' | 'merged'> {
  const schemas = [z.toJSONSchema(rule, { io: name === 'limit' ? 'output' : 'input' }) as Schema];
  const whole = schemas[0]!;
  const alternatives = whole.anyOf ?? schemas;
  const one = alternatives.find(({ type }) => type !== 'null') ?? {};
  const item = typeOf(one) === 'array' ? one.items! : one;
  const choices = item.enum ?? [];
  const isFlag = typeOf(item) === 'boolean' || choices[0] === 'true';
  const kinds: Record<string, Field['kind']> = { integer: 'number', object: 'pairs' };
  return {
    name,
    option,
    kind: isFlag
      ? 'flag'
      : name === 'password' || name === 'secret' || whole.writeOnly
        ? 'input'
        : item.format === 'date-time'
          ? 'time'
          : item.format === 'base64'
            ? 'file'
            : choices.length > 0
              ? 'choice'
              : (kinds[typeOf(item)] ?? 'text'),
    choices,
    many: typeOf(one) === 'array',
    empty: emptyValues.find((value) => rule.safeParse(value).success),
    required: name === 'password' || !rule.safeParse(undefined).success,
    range: name === 'limit' ? { minimum: 1, maximum: maxLimit } : item,
    help: whole.description ?? one.description ?? '',
  };
}

/** The value of a field as the usage shows it. */
export function placeholderOf({ name, option, kind, choices, many }: Field): string {
  const word = name === 'q' ? 'TEXT' : (option ?? name).split(/[-_]/).at(-1)!.toUpperCase();
  const value =
    kind === 'pairs'
      ? 'name=value'
      : choices.length > 0 && choices.length < 6
        ? choices.join('|')
        : kind === 'number'
          ? 'N'
          : kind.endsWith('file')
            ? 'FILE'
            : kind === 'json'
              ? 'JSON'
              : word;
  return many || kind === 'pairs' ? `${value} …` : value;
}

/** The option with its value, as the usage shows it. */
export function optionOf(field: Field): string {
  return field.kind === 'flag' || field.kind === 'input'
    ? `--${field.option}`
    : `--${field.option} ${placeholderOf(field)}`;
}

/** The name by which `--unset` empties a member. */
export const unsetNameOf = ({ option, name }: Field): string => option ?? name.replaceAll('_', '-');

/** The options, in the form of node:util. */
export const parserOptions = (fields: readonly Field[], hasUnset: boolean): Options => ({
  ...(hasUnset && { unset: { type: 'string', multiple: true } }),
  ...Object.fromEntries(
    fields.flatMap(({ option, kind, many }) =>
      option === undefined
        ? []
        : [
            [
              option,
              {
                type: (kind === 'flag' || kind === 'input' ? 'boolean' : 'string') as 'boolean' | 'string',
                ...((many || kind === 'pairs') && { multiple: true }),
              },
            ],
          ],
    ),
  ),
});

/** Reads the typed values, by the names of the fields. @param emptied the values of `--unset` @throws UsageError */
export async function readFields(
  fields: readonly Field[],
  values: Record<string, unknown>,
  words: readonly string[],
  terminal: Terminal,
  emptied: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const input: Record<string, unknown> = { ...emptied };
  for (const [index, field] of fields.entries()) {
    const { name, option, kind, required } = field;
    // an optional argument takes all further words
    const typed =
      option !== undefined ? values[option] : required ? words[index] : words.slice(index).join(' ') || undefined;
    if (typed === undefined) {
      if (Object.hasOwn(emptied, name)) continue;
      if (kind === 'input' && required)
        throw new UsageError(
          'Add --password-stdin and pipe the password in: a password must not be on a command line.',
        );
      if (required)
        throw new UsageError(
          option === undefined
            ? `Missing argument: ${placeholderOf(field)}, or --unset ${unsetNameOf(field)}.`
            : `The option --${option} is missing.`,
        );
    } else if (Object.hasOwn(emptied, name) && !field.merged)
      throw new UsageError(`--unset ${unsetNameOf(field)} removes the value: leave it out, or give no value.`);
    else if (kind === 'input') input[name] = await readPassword(terminal);
    else if (kind === 'pairs')
      input[name] = { ...(emptied[name] as object), ...readPairs(typed as string[], option, name === 'attributes') };
    else input[name] = field.many ? (typed as string[]).map((one) => valueOf(field, one)) : valueOf(field, typed);
  }
  return input;
}

function valueOf(field: Field, typed: unknown): unknown {
  const { kind, choices, strict, range } = field;
  const what = field.option === undefined ? placeholderOf(field) : `--${field.option}`;
  if (kind === 'flag') return choices.length > 0 ? 'true' : true;
  const word = String(typed);
  if (kind === 'file') return readFile(word, 'base64');
  if (kind === 'text-file') return readFile(word, 'utf8').replace(/\r?\n$/, '');
  if (kind === 'json') return readJson(word, what);
  if (kind === 'json-file') return readJson(readFile(word, 'utf8'), `the file ${word}`);
  if (kind === 'choice' && strict && !choices.includes(word))
    throw new UsageError(`${what} must be one of: ${listed(choices)}.`);
  if (kind === 'number') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = range;
    const number = /^\d{1,15}$/.test(word) ? Number(word) : NaN;
    if (!(number >= minimum && number <= maximum))
      throw new UsageError(`${what} must be a whole number from ${minimum} to ${maximum}.`);
    return number;
  }
  if (kind === 'time') {
    const time = new Date(word);
    if (Number.isNaN(time.getTime()) || Math.abs(time.getUTCFullYear()) > 9999)
      throw new UsageError(`${what} must be a time such as 2026-01-31T12:00:00Z.`);
    return time.toISOString();
  }
  return word;
}

function readFile(file: string, encoding: 'base64' | 'utf8'): string {
  try {
    return readFileSync(file, encoding);
  } catch (error) {
    throw ofTheFile(error, file);
  }
}

/** @throws UsageError if the text is not an object in JSON */
function readJson(text: string, what: string): object {
  const value = jsonOf(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new UsageError(
    `${what} must be an object in JSON, such as {"name": "value"}; put it in single quotes in a shell.`,
  );
}

const listed = (choices: readonly string[]): string =>
  choices.length > 12 ? `${choices.slice(0, 3).join(', ')}, …: docs/reference.md lists all` : choices.join(', ');

async function readPassword({ stdin }: Terminal): Promise<string> {
  if (stdin.isTTY)
    throw new UsageError('Pipe the password in: printf %s "$PASSWORD" | bin/gatehouse … --password-stdin');
  return (await readAll(stdin)).replace(/\r?\n$/, '');
}

/** `name=value` pairs; unless all are text, a value that parses as a JSON object, number or boolean is one unless its claim is text, else it is text. */
function readPairs(pairs: readonly string[], option = 'claim', allText = false): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new UsageError(`--${option} must be name=value, not ${pair}.`);
      const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
      const read = allText || isTextClaim(name) ? value : jsonOf(value);
      // an id of digits alone stays as it was typed
      const isSame = typeof read !== 'number' || option !== 'settings' || String(read) === value;
      return [name, isSame ? read : value];
    }),
  );
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return (typeof value === 'object' && value !== null) || typeof value === 'number' || typeof value === 'boolean'
      ? value
      : text;
  } catch {
    return text;
  }
}
