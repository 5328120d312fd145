// Finds citations of a security requirement, an attack case or a fault: in comments of sources, titles of tests, calls of attack().
import ts from 'typescript';
import type { AttackCase } from '../../test/attacks/attack.ts';

export type { AttackCase };

/** A test whose title ends in a clause such as "(security R15, A12)". */
export interface CitingTest {
  /** With the titles of the enclosing describe blocks, without the clause. */
  title: string;
  keys: string[];
}

const key = /\b[RAFP][1-9]\d{0,2}\b/g;

/**
 * The keys in a clause. After the word federation, F numbers are cases of federation, and not faults; after the word reports, all are
 * cases of public reports.
 */
function keysIn(clause: string): string[] {
  const [own = '', ...reported] = clause.split(/\breports\b/);
  return [...ownKeysIn(own), ...(reported.join(' ').match(/\b[A-F][1-9]\d?\b/g) ?? []).map((one) => `reports ${one}`)];
}

function ownKeysIn(clause: string): string[] {
  const [before = '', ...after] = clause.split(/\bfederation\b/);
  const cases = (after.join(' ').match(key) ?? []).map((one) => (one.startsWith('F') ? `federation ${one}` : one));
  return [...(before.match(key) ?? []), ...cases];
}

/** The keys that the comments of a source cite: "(security R15, F3)". */
export function citationsIn(source: string): string[] {
  return [
    ...new Set([...source.matchAll(/\([^()]*\bsecurity ([^()]*)\)/g)].flatMap(([, cited]) => cited!.match(key) ?? [])),
  ];
}

/** The tests of a file that cite something; a test in a loop counts once, with "…" in place of its values. */
export function testsIn(file: string, source: string): CitingTest[] {
  const found: CitingTest[] = [];
  visit(parse(file, source), []);
  return found;

  function visit(node: ts.Node, outer: string[]): void {
    let within = outer;
    if (ts.isCallExpression(node) && /^(?:test|describe)$/.test(rootOf(node.expression))) {
      const title = textOf(node.arguments[0]);
      if (title !== undefined && rootOf(node.expression) === 'describe') within = [...outer, title];
      else if (title !== undefined) {
        const clause = /\(([^()]*)\)$/.exec(title);
        const keys = keysIn(clause?.[1] ?? '');
        const words = [...outer, title.slice(0, clause?.index).trim()].join(': ');
        if (keys.length > 0) found.push({ title: words, keys });
      }
    }
    ts.forEachChild(node, (child) => visit(child, within));
  }
}

/** The attack cases that a file registers. */
export function attacksIn(file: string, source: string): AttackCase[] {
  return parse(file, source).statements.flatMap((statement) => {
    const call = ts.isExpressionStatement(statement) ? statement.expression : undefined;
    if (!call || !ts.isCallExpression(call) || call.expression.getText() !== 'attack') return [];
    const [described] = call.arguments;
    if (!described || !ts.isObjectLiteralExpression(described)) throw new Error(`${file}: attack() takes a literal`);
    return [Object.fromEntries(described.properties.map((member) => memberOf(file, member))) as unknown as AttackCase];
  });
}

function memberOf(file: string, member: ts.ObjectLiteralElementLike): [string, unknown] {
  if (ts.isPropertyAssignment(member)) {
    const { name, initializer } = member;
    if (ts.isStringLiteralLike(initializer)) return [name.getText(), initializer.text];
    if (ts.isArrayLiteralExpression(initializer) && initializer.elements.every(ts.isStringLiteralLike))
      return [name.getText(), initializer.elements.map((element) => (element as ts.StringLiteralLike).text)];
  }
  throw new Error(`${file}: an attack case is told in plain literals, not by ${member.getText()}`);
}

function parse(file: string, source: string): ts.SourceFile {
  return ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
}

/** The innermost name of test(…), test.each(…)(…) or describe.skipIf(…)(…). */
function rootOf(expression: ts.Expression): string {
  if (ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression))
    return rootOf(expression.expression);
  return ts.isIdentifier(expression) ? expression.text : '';
}

/** A title as the page shows it: "…" replaces values that are known only at run time. */
function textOf(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text.replace(/%(?:\.\d+)?[sjidfo]|\$\w+/g, '…');
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}
