// Parses filters (RFC 7644 3.4.2.2), and the paths of PATCH operations (3.5.2), which have filters in brackets. The result is data: no text of a
// filter becomes part of a statement.
import { invalidFilter, invalidPath } from './errors.ts';

export const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
export type Comparison = (typeof comparisons)[number];
export type FilterValue = string | number | boolean | null;

/** The name of an attribute: its schema if one is named, and its parts, all as they were written. */
export interface AttributePath {
  schema: string | undefined;
  name: string;
  sub: string | undefined;
}

export type Filter =
  | { kind: 'and' | 'or'; parts: Filter[] }
  | { kind: 'not'; part: Filter }
  | { kind: 'present'; path: AttributePath }
  | { kind: 'compare'; path: AttributePath; comparison: Comparison; value: FilterValue }
  | { kind: 'values'; path: AttributePath; part: Filter };

export interface PatchPath {
  path: AttributePath;
  filter: Filter | undefined;
}

const most = { characters: 2_000, depth: 8, terms: 40 };
const word = /^[A-Za-z$][\w$:.-]*/;
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/;

/** Splits a name into its schema and its parts: a URN has dots and colons of its own. */
export function attributePath(text: string): AttributePath | undefined {
  const isUrn = /^urn:/i.test(text);
  const colon = isUrn ? text.lastIndexOf(':') : -1;
  const parts = text.slice(colon + 1).split('.');
  const [name = '', sub] = parts;
  if (parts.length > 2 || parts.some((part) => !/^[A-Za-z$][\w$-]*$/.test(part)) || (!isUrn && text.includes(':')))
    return undefined;
  return { schema: isUrn ? text.slice(0, colon) : undefined, name, sub };
}

class Reader {
  private readonly text: string;
  private at = 0;
  private terms = 0;
  private depth = 0;
  private readonly refuse: (detail: string) => Error;

  constructor(text: string, refuse: (detail: string) => Error) {
    this.text = text;
    this.refuse = refuse;
    if (text.length > most.characters) throw refuse(`use at most ${most.characters} characters`);
    if (text.includes('\0') || !text.isWellFormed()) throw refuse('the text is not well-formed');
  }

  private space(): void {
    while (this.text[this.at] === ' ') this.at++;
  }

  /** Takes a character, if it comes next. */
  take(character: string): boolean {
    this.space();
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private expect(character: string): void {
    if (!this.take(character)) throw this.refuse(`${character} is missing at character ${this.at + 1}`);
  }

  private peekWord(): string {
    this.space();
    return word.exec(this.text.slice(this.at, this.at + 300))?.[0] ?? '';
  }

  /** Takes one of the words of the grammar, in any case. */
  private takeWord(wanted: string): boolean {
    if (this.peekWord().toLowerCase() !== wanted) return false;
    this.at += wanted.length;
    return true;
  }

  path(): AttributePath {
    const found = this.peekWord();
    const path = attributePath(found);
    if (!path) throw this.refuse(`the name of an attribute is missing at character ${this.at + 1}`);
    this.at += found.length;
    return path;
  }

  end(): void {
    this.space();
    if (this.at < this.text.length) throw this.refuse(`character ${this.at + 1} does not belong there`);
  }

  private deeper<T>(read: () => T): T {
    if (++this.depth > most.depth) throw this.refuse(`use at most ${most.depth} levels`);
    const result = read();
    this.depth--;
    return result;
  }

  filter(inValues = false): Filter {
    const first = this.conjunction(inValues);
    const parts = [first];
    while (this.takeWord('or')) parts.push(this.conjunction(inValues));
    return parts.length === 1 ? first : { kind: 'or', parts };
  }

  private conjunction(inValues: boolean): Filter {
    const first = this.term(inValues);
    const parts = [first];
    while (this.takeWord('and')) parts.push(this.term(inValues));
    return parts.length === 1 ? first : { kind: 'and', parts };
  }

  private group(inValues: boolean): Filter {
    return this.deeper(() => {
      const part = this.filter(inValues);
      this.expect(')');
      return part;
    });
  }

  private term(inValues: boolean): Filter {
    if (this.take('(')) return this.group(inValues);
    if (/^not *\(/i.test(this.text.slice(this.at, this.at + 40).trimStart()) && this.takeWord('not')) {
      this.expect('(');
      return { kind: 'not', part: this.group(inValues) };
    }
    const path = this.path();
    if (!inValues && this.text[this.at] === '[') return this.values(path);
    return this.test(path);
  }

  /** Values that fit a filter in brackets. Entra compares a part of them after it: emails[type eq "work"].value eq "a". */
  private values(path: AttributePath): Filter {
    const chosen = this.brackets();
    const name = this.part();
    if (name === undefined) return { kind: 'values', path, part: chosen };
    const tested = this.test({ schema: undefined, name, sub: undefined });
    return { kind: 'values', path, part: { kind: 'and', parts: [chosen, tested] } };
  }

  private test(path: AttributePath): Filter {
    if (++this.terms > most.terms) throw this.refuse(`use at most ${most.terms} terms`);
    const operator = this.peekWord().toLowerCase();
    this.at += operator.length;
    if (operator === 'pr') return { kind: 'present', path };
    const comparison = comparisons.find((one) => one === operator);
    if (!comparison) throw this.refuse(`an operator is missing at character ${this.at - operator.length + 1}`);
    return { kind: 'compare', path, comparison, value: this.value() };
  }

  brackets(): Filter {
    this.at++;
    return this.deeper(() => {
      const part = this.filter(true);
      this.expect(']');
      return part;
    });
  }

  private value(): FilterValue {
    this.space();
    for (const [name, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const)
      if (this.takeWord(name)) return value;
    const digits = number.exec(this.text.slice(this.at))?.[0];
    if (digits !== undefined) {
      this.at += digits.length;
      return Number(digits);
    }
    return this.string();
  }

  private string(): string {
    const start = this.at;
    if (this.text[start] !== '"') throw this.refuse(`a value is missing at character ${start + 1}`);
    let end = start + 1;
    while (end < this.text.length && this.text[end] !== '"') end += this.text[end] === '\\' ? 2 : 1;
    this.at = end + 1;
    try {
      const value = JSON.parse(this.text.slice(start, this.at)) as string;
      if (!value.includes('\0') && value.isWellFormed()) return value;
    } catch {
      // refused below
    }
    throw this.refuse(`the value at character ${start + 1} is no text of JSON`);
  }

  /** Whether brackets follow, without a space before them. */
  atBrackets(): boolean {
    return this.text[this.at] === '[';
  }

  /** What follows brackets: a dot and the name of a part. */
  part(): string | undefined {
    if (this.text[this.at] !== '.') return undefined;
    this.at++;
    const found = /^[A-Za-z$][\w$-]*/.exec(this.text.slice(this.at))?.[0];
    if (found === undefined) throw this.refuse('the name of a part is missing at the end');
    this.at += found.length;
    return found;
  }
}

/** @throws ScimError invalidFilter */
export function parseFilter(text: string): Filter {
  const reader = new Reader(text, invalidFilter);
  const filter = reader.filter();
  reader.end();
  return filter;
}

/** @throws ScimError invalidPath */
export function parsePath(text: string): PatchPath {
  // a path may be the URN of an extension alone
  if (/^urn:[\w:.-]+$/i.test(text) && text.length <= 300) {
    const path = attributePath(text);
    return { path: path ?? { schema: text, name: '', sub: undefined }, filter: undefined };
  }
  const reader = new Reader(text, invalidPath);
  const path = reader.path();
  if (!reader.atBrackets()) {
    reader.end();
    return { path, filter: undefined };
  }
  const filter = reader.brackets();
  const sub = reader.part();
  reader.end();
  return { path: { ...path, sub: sub ?? path.sub }, filter };
}

/** Whether one value of a list fits a filter in brackets. @param caseExact whether a part of a value is compared exactly */
export function fits(filter: Filter, value: Record<string, unknown>): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every((part) => fits(part, value));
    case 'or':
      return filter.parts.some((part) => fits(part, value));
    case 'not':
      return !fits(filter.part, value);
    case 'values':
      return false;
    case 'present':
      return isPresent(partOf(value, filter.path.name));
    case 'compare':
      return compares(partOf(value, filter.path.name), filter.comparison, filter.value);
  }
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

export function partOf(value: Record<string, unknown>, name: string): unknown {
  const lower = name.toLowerCase();
  return Object.entries(value).find(([key]) => key.toLowerCase() === lower)?.[1];
}

function compares(found: unknown, comparison: Comparison, wanted: FilterValue): boolean {
  const plain = (one: unknown) => (typeof one === 'string' ? one.toLowerCase() : (one ?? null));
  const [a, b] = [plain(found), plain(wanted)];
  // Entra writes booleans as texts
  const same = a === b || (typeof a === 'boolean' && b === String(a));
  if (comparison === 'eq') return same;
  if (comparison === 'ne') return !same;
  if (typeof a !== 'string' || typeof b !== 'string') return false;
  switch (comparison) {
    case 'co':
      return a.includes(b);
    case 'sw':
      return a.startsWith(b);
    case 'ew':
      return a.endsWith(b);
    case 'gt':
      return a > b;
    case 'ge':
      return a >= b;
    case 'lt':
      return a < b;
    case 'le':
      return a <= b;
  }
}
