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
const most = { aliases: 100, depth: 32, values: 100_000, expanded: 10_000 };

export type YamlMap = { [name: string]: YamlValue };
export type YamlValue = string | number | boolean | null | YamlValue[] | YamlMap;

export interface YamlText {
  value: YamlMap;
  /** The line of the value at a path, or of the closest one around it. */
  lineOf(path: readonly string[]): number;
}

/** What a file never has, whatever it would mean. The second is for keys of any place. */
const control = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]/;
const reserved = '__proto__';
/** More indentation than any level of a file has. */
const tooDeep = /^ {200}/m;

const lineAt = (text: string, offset: number): number => {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
};

/** Looks at the words of the text before anything is built from them: this takes little time and memory, whatever the text says. */
function checkTokens(text: string, { Lexer, CST }: typeof Yaml): void {
  let [offset, aliases, depth, items, values] = [0, 0, 0, 0, 0];
  const refuse = (message: string): never => {
    throw new YamlFault(lineAt(text, offset), message);
  };
  for (const token of new Lexer().lex(text)) {
    const type = CST.tokenType(token);
    if (type === 'alias' && ++aliases > most.aliases) refuse(`there are more than ${most.aliases} aliases`);
    if (type === 'tag') refuse('tags are not allowed');
    if (type === 'directive-line') refuse('directives are not allowed');
    if (type === 'flow-map-start' || type === 'flow-seq-start') depth++;
    if (type === 'flow-map-end' || type === 'flow-seq-end') depth--;
    if (type === 'explicit-key-ind') refuse('a key must be a text');
    if (type === 'newline') items = 0;
    if (type === 'seq-item-ind') items++;
    if (depth > most.depth || items > most.depth) refuse(`values are nested more than ${most.depth} deep`);
    if (token === '<<') refuse('merge keys (<<) are not allowed');
    if (type === null && ++values > most.values) refuse(`there are more than ${most.values} values`);
    // these stand for no character of the text
    if (type !== 'doc-mode' && type !== 'scalar' && type !== 'flow-error-end') offset += token.length;
  }
}

/** @throws YamlFault */
export async function readYaml(text: string): Promise<YamlText> {
  if (text.length > maxFile || Buffer.byteLength(text) > maxFile)
    throw new YamlFault(1, `the file has more than ${maxFile / 1024} KiB`);
  const wrong = control.exec(text);
  if (wrong) throw new YamlFault(lineAt(text, wrong.index), 'control characters are not allowed');
  const deep = tooDeep.exec(text);
  if (deep) throw new YamlFault(lineAt(text, deep.index), `values are nested more than ${most.depth} deep`);
  // only files need the library
  const yaml = await import('yaml');
  checkTokens(text, yaml);
  const counter = new yaml.LineCounter();
  const document = yaml.parseDocument(text, {
    lineCounter: counter,
    version: '1.2',
    schema: 'core',
    merge: false,
    // the library compares each key with each other one, and 10 with 1e1 as numbers: toData() looks at the texts
    uniqueKeys: false,
    prettyErrors: false,
  });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) throw new YamlFault(counter.linePos(fault.pos[0]).line, sentenceOf(fault.code, fault.message));
  return toData(document, yaml, (offset) => counter.linePos(offset).line);
}

const sentenceOf = (code: string, message: string): string =>
  code === 'MULTIPLE_DOCS'
    ? 'there is more than one document'
    : code === 'TAB_AS_INDENT'
      ? 'tabs are not allowed as indentation'
      : `this is not YAML: ${message.split('\n', 1)[0]!.replace(/[^\x20-\x7e]/g, '?')}`;

function toData(document: Yaml.Document, yaml: typeof Yaml, lineOf: (offset: number) => number): YamlText {
  const lines = new Map<string, number>();
  // the library would search the whole document for each alias
  const anchored = new Map<string, unknown>();
  let [values, aliases, expanded] = [0, 0, 0];
  const idOf = (path: readonly string[]) => path.join('\0');
  /** The line of a node; within what an alias stands for, that of the alias. */
  const at = (node: { range?: readonly number[] | null | undefined } | null | undefined, fallback: number) =>
    node?.range && aliases === 0 ? lineOf(node.range[0]!) : fallback;

  function keyOf({ key }: Yaml.Pair, line: number): string {
    if (!yaml.isScalar(key)) throw new YamlFault(at(key as Yaml.Node | null, line), 'a key must be a text');
    // 0123, no and 1.0 are the texts that were written
    const name = key.source ?? String(key.value);
    if (name === reserved) throw new YamlFault(at(key, line), `${reserved} is a reserved name`);
    return name;
  }

  function scalarOf(value: unknown, source: string | undefined, isPlain: boolean, line: number): YamlValue {
    if (isPlain && source !== undefined && /^[-+]?0[0-9]+$/.test(source))
      throw new YamlFault(line, `${source} is ambiguous: put it in quotes if it is a text, or leave the zeros out`);
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw new YamlFault(line, 'this is neither a text, a number, true nor false');
  }

  function dataOf(node: unknown, path: readonly string[], fallback: number): YamlValue {
    const line = at(node as Yaml.Node | null, fallback);
    if (++values > most.values || (aliases > 0 && ++expanded > most.expanded))
      throw new YamlFault(line, 'there are too many values, or the aliases stand for too many');
    if (path.length > most.depth) throw new YamlFault(line, `values are nested more than ${most.depth} deep`);
    lines.set(idOf(path), fallback);
    if (node === null || node === undefined) return null;
    if (yaml.isAlias(node)) {
      const target = anchored.get(node.source);
      if (target === undefined) throw new YamlFault(line, 'the alias names nothing');
      aliases++;
      const data = dataOf(target, path, line);
      aliases--;
      return data;
    }
    if (yaml.isNode(node) && 'anchor' in node && node.anchor !== undefined) anchored.set(node.anchor, node);
    if (yaml.isScalar(node)) return scalarOf(node.value, node.source, node.type === 'PLAIN', line);
    if (yaml.isSeq(node))
      return node.items.map((item, index) => dataOf(item, [...path, String(index)], at(item as Yaml.Node, line)));
    if (!yaml.isMap(node)) throw new YamlFault(line, 'this is not plain data');
    const map: YamlMap = {};
    for (const pair of node.items) {
      const keyLine = at(pair.key as Yaml.Node | null, line);
      const name = keyOf(pair, keyLine);
      if (Object.hasOwn(map, name)) throw new YamlFault(keyLine, 'a key stands twice in one mapping');
      map[name] = dataOf(pair.value, [...path, name], keyLine);
    }
    return map;
  }

  const value = dataOf(document.contents, [], 1);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new YamlFault(1, 'the file must be a mapping that begins with apiVersion');
  return {
    value,
    lineOf(path) {
      for (let length = path.length; length > 0; length--) {
        const line = lines.get(idOf(path.slice(0, length)));
        if (line !== undefined) return line;
      }
      return 1;
    },
  };
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
