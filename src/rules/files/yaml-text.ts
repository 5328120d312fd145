// Reads a text in YAML 1.2 as plain data with the line of each value: bounded, without tags, merge keys and code (federation FR47).
import type * as Yaml from 'yaml';

/** What is wrong, and where. */
export class YamlFault extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Bytes of one file, and of all files of a folder. */
export const maxFile = 1024 * 1024;
export const maxAll = 4 * maxFile;
/** Levels and values of a file. */
export const maxDepth = 32;
export const maxValues = 100_000;

/** What a text may have. */
export interface YamlRules {
  /** The most of each: bytes, levels, and values with those for which aliases stand. */
  most: { bytes: number; aliases: number; depth: number; values: number; expanded: number };
  /** Tags whose values are read as data: none of them is looked up. */
  tags?: readonly string[];
  /** Another program wrote the text: it has numbers as YAML reads them, and any value at its top. */
  isForeign?: true;
}
const ours: YamlRules = {
  most: { bytes: maxFile, aliases: 100, depth: maxDepth, values: maxValues, expanded: 10_000 },
};

export type YamlMap = { [name: string]: YamlValue };
export type YamlValue = string | number | boolean | null | YamlValue[] | YamlMap;

export const isYamlMap = (value: YamlValue | undefined): value is YamlMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value with a tag that the rules name. */
export class Tagged {
  readonly tag: string;
  readonly value: unknown;
  constructor(tag: string, value: unknown) {
    this.tag = tag;
    this.value = value;
  }
}

export interface YamlText {
  value: YamlMap;
  /** The line of the value at a path, or of the closest one around it. */
  lineOf(path: readonly string[]): number;
}

/** What a file never has, whatever it would mean. */
const control = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]/;
/** No key has this name. */
export const reservedName = '__proto__';
/** More indentation than any level of a file has. */
const tooDeep = /^ {200}/m;

const lineAt = (text: string, offset: number): number => {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
};

/** The types of tokens with which a value begins; a plain text has none. */
const isValue = new Set<string | null>([
  null,
  'single-quoted-scalar',
  'double-quoted-scalar',
  'block-scalar-header',
  'flow-map-start',
  'flow-seq-start',
  'alias',
  'tag',
]);

/** Looks at the words of the text before anything is built from them: this takes little time and memory, whatever the text says. */
function checkTokens(text: string, { Lexer, CST }: typeof Yaml, { most, tags = [], isForeign }: YamlRules): void {
  let [offset, aliases, anchors, depth, items, values, commas, lines, tokens] = [0, 0, 0, 0, 0, 0, 0, 0, 0];
  const refuse = (message: string): never => {
    throw new YamlFault(lineAt(text, offset), message);
  };
  for (const token of new Lexer().lex(text)) {
    const type = CST.tokenType(token);
    if (type === 'alias' && ++aliases > most.aliases) refuse(`there are more than ${most.aliases} aliases`);
    if (type === 'tag' && !tags.includes(token))
      refuse(tags.length > 0 ? `the tag ${shown(token)} is unknown` : 'tags are not allowed');
    if (type === 'directive-line') refuse('directives are not allowed');
    if (type === 'flow-map-start' || type === 'flow-seq-start') depth++;
    if (type === 'flow-map-end' || type === 'flow-seq-end') depth--;
    // other programs write long keys so
    if (type === 'explicit-key-ind' && !isForeign) refuse('a key must be a text');
    if (type === 'newline') items = 0;
    if (type === 'newline' && ++lines > most.values) refuse(`there are more than ${most.values} lines`);
    // the library says of each one that it separates nothing
    if (type === 'comma' && ++commas > values) refuse('this is not YAML: there are more commas than values');
    if (++tokens > 10 * most.values) refuse(`there are more than ${10 * most.values} words and marks`);
    if (type === 'seq-item-ind' || type === 'explicit-key-ind') items++;
    if (depth > most.depth || items > most.depth) refuse(`values are nested more than ${most.depth} deep`);
    if (token === '<<') refuse('merge keys (<<) are not allowed');
    if (type === 'anchor' && ++anchors > 10 * most.aliases) refuse(`there are more than ${10 * most.aliases} anchors`);
    if (isValue.has(type) && ++values > most.values) refuse(`there are more than ${most.values} values`);
    // these stand for no character of the text
    if (type !== 'doc-mode' && type !== 'scalar' && type !== 'flow-error-end') offset += token.length;
  }
}

/** @throws YamlFault */
export async function readYaml(text: string): Promise<YamlText> {
  const lines = new Map<string, number>();
  const value = await readData(text, ours, (path, line) => lines.set(idOf(path), line));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new YamlFault(1, 'the file must be a mapping that begins with apiVersion');
  return {
    // by our rules there are no tags, and each value is one of these
    value: value as YamlMap,
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const line = lines.get(idOf(path.slice(0, length)));
        if (line !== undefined) return line;
      }
      return 1;
    },
  };
}

/** Reads what another program wrote, as data. @throws YamlFault */
export const readForeignYaml = (text: string, rules: Omit<YamlRules, 'isForeign'>): Promise<unknown> =>
  readData(text, { ...rules, isForeign: true });

const idOf = (path: readonly string[]): string => path.join('\0');
type OnLine = (path: readonly string[], line: number) => void;

async function readData(text: string, rules: YamlRules, onLine?: OnLine): Promise<unknown> {
  const { most, tags = [] } = rules;
  if (text.length > most.bytes || Buffer.byteLength(text) > most.bytes)
    throw new YamlFault(1, `the file has more than ${most.bytes / 1024} KiB`);
  const wrong = control.exec(text);
  if (wrong) throw new YamlFault(lineAt(text, wrong.index), 'control characters are not allowed');
  const deep = tooDeep.exec(text);
  if (deep) throw new YamlFault(lineAt(text, deep.index), `values are nested more than ${most.depth} deep`);
  // only files need the library
  const yaml = await import('yaml');
  checkTokens(text, yaml, rules);
  const counter = new yaml.LineCounter();
  const composer = new yaml.Composer({
    version: '1.2',
    schema: 'core',
    merge: false,
    // the library compares each key with each other one, and 10 with 1e1 as numbers: dataIn() looks at the texts
    uniqueKeys: false,
    customTags: tags.flatMap(formsOf),
  });
  let fault: YamlFault | undefined;
  // a text can have a million faults, and the library would make an error of each; it catches what is thrown here, and comes back with it
  composer['onError'] = (source: number | readonly number[] | { offset: number }, code: string, message: string) => {
    const offset = typeof source === 'number' ? source : 'offset' in source ? source.offset : source[0]!;
    fault ??= new YamlFault(counter.linePos(offset).line, sentenceOf(code, message));
    throw fault;
  };
  const documents = composer.compose(new yaml.Parser(counter.addNewLine).parse(text), true, text.length);
  const [document, another] = [documents.next().value, documents.next().value] as (Yaml.Document | undefined)[];
  const lineOf = (offset: number) => counter.linePos(offset).line;
  if (another) throw new YamlFault(lineOf(another.range![0]), 'there is more than one document');
  return dataIn(document!, yaml, rules, lineOf, onLine);
}

/** A tag on a text, a list and a mapping: each stays as it is. */
const formsOf = (tag: string): (Yaml.ScalarTag | Yaml.CollectionTag)[] => [
  { tag, resolve: (text) => text },
  { tag, collection: 'seq', resolve: (seq) => seq },
  { tag, collection: 'map', resolve: (map) => map },
];

const shown = (text: string): string => text.slice(0, 200).replace(/[^\x20-\x7e]/g, '?');
const sentenceOf = (code: string, message: string): string =>
  code === 'TAB_AS_INDENT'
    ? 'tabs are not allowed as indentation'
    : `this is not YAML: ${shown(message.split('\n', 1)[0]!)}`;

function dataIn(
  document: Yaml.Document,
  yaml: typeof Yaml,
  { most, tags = [], isForeign }: YamlRules,
  lineOf: (offset: number) => number,
  onLine?: OnLine,
): unknown {
  // the library would search the whole document for each alias
  const anchored = new Map<string, unknown>();
  let [values, aliases, expanded] = [0, 0, 0];
  /** The line of a node; within what an alias stands for, that of the alias. */
  const at = (node: { range?: readonly number[] | null | undefined } | null | undefined, fallback: number) =>
    node?.range && aliases === 0 ? lineOf(node.range[0]!) : fallback;

  function keyOf({ key }: Yaml.Pair, line: number): string {
    if (!yaml.isScalar(key)) throw new YamlFault(at(key as Yaml.Node | null, line), 'a key must be a text');
    // 0123, no and 1.0 are the texts that were written
    const name = key.source ?? String(key.value);
    if (name === reservedName) throw new YamlFault(at(key, line), `${reservedName} is a reserved name`);
    return name;
  }

  function scalarOf(value: unknown, source: string | undefined, isPlain: boolean, line: number): YamlValue {
    if (!isForeign && isPlain && source !== undefined && /^[-+]?0[0-9]+$/.test(source))
      throw new YamlFault(line, `${source} is ambiguous: put it in quotes if it is a text, or leave the zeros out`);
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number' && (isForeign || Number.isFinite(value))) return value;
    throw new YamlFault(line, 'this is neither a text, a number, true nor false');
  }

  function dataOf(node: unknown, path: readonly string[], fallback: number): unknown {
    const line = at(node as Yaml.Node | null, fallback);
    if (++values > most.values || (aliases > 0 && ++expanded > most.expanded))
      throw new YamlFault(line, 'there are too many values, or the aliases stand for too many');
    if (path.length > most.depth) throw new YamlFault(line, `values are nested more than ${most.depth} deep`);
    onLine?.(path, fallback);
    if (node === null || node === undefined) return null;
    if (yaml.isAlias(node)) {
      const target = anchored.get(node.source);
      if (target === undefined) throw new YamlFault(line, 'the alias names nothing');
      aliases++;
      const data = dataOf(target, path, line);
      aliases--;
      return data;
    }
    if (!yaml.isNode(node)) throw new YamlFault(line, 'this is not plain data');
    if ('anchor' in node && node.anchor !== undefined) anchored.set(node.anchor, node);
    const data = plainOf(node, path, line);
    return node.tag !== undefined && tags.includes(node.tag) ? new Tagged(node.tag, data) : data;
  }

  function plainOf(node: Yaml.Node, path: readonly string[], line: number): unknown {
    if (yaml.isScalar(node)) return scalarOf(node.value, node.source, node.type === 'PLAIN', line);
    if (yaml.isSeq(node))
      return node.items.map((item, index) => dataOf(item, [...path, String(index)], at(item as Yaml.Node, line)));
    if (!yaml.isMap(node)) throw new YamlFault(line, 'this is not plain data');
    const map: Record<string, unknown> = {};
    for (const pair of node.items) {
      const keyLine = at(pair.key as Yaml.Node | null, line);
      const name = keyOf(pair, keyLine);
      if (Object.hasOwn(map, name)) throw new YamlFault(keyLine, 'a key stands twice in one mapping');
      map[name] = dataOf(pair.value, [...path, name], keyLine);
    }
    return map;
  }

  return dataOf(document.contents, [], 1);
}

/** The characters of texts that stand for themselves in no file. */
const escaped = /[\x7f-\x9f\ufffe\uffff]/g;

/** Writes data so that readers of other versions of YAML read the same: `no` is in quotes. */
export async function writeYaml(value: object): Promise<string> {
  const { Document, visit } = await import('yaml');
  const document = new Document(value, {
    version: '1.2',
    schema: 'core',
    compat: 'yaml-1.1',
    aliasDuplicateObjects: false,
  });
  visit(document, {
    Scalar(_key, node) {
      const { value: text } = node;
      if (typeof text === 'string' && (control.test(text) || tooDeep.test(text))) node.type = 'QUOTE_DOUBLE';
    },
  });
  // between double quotes, where alone these characters are, an escape stands for each
  return document
    .toString({ lineWidth: 0, doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER })
    .replace(escaped, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
