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

const key = /\b(?:FR|[RAFP])[1-9]\d{0,2}\b/g;

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
  const cases = (after.join(' ').match(key) ?? []).map((one) => (/^F\d/.test(one) ? `federation ${one}` : one));
  return [...(before.match(key) ?? []), ...cases];
}

/** The keys that the comments of a source cite: "(security R15, F3)", "(federation FR2)". */
export function citationsIn(source: string): string[] {
  const keys = [...source.matchAll(/\(([^()]*)\)/g)].flatMap(([, clause = '']) => [
    ...(/\bsecurity (.*)/s.exec(clause)?.[1]?.match(key) ?? []),
    ...(clause.match(/\bFR[1-9]\d?\b/g) ?? []),
  ]);
  return [...new Set(keys)];
}

/** The tests of a file that cite something; a test in a loop counts once, with "…" in place of its values. */
export function testsIn(file: string, source: string): CitingTest[] {
  const found: CitingTest[] = [];
  visit(parse(file, source), []);
  return found;

  function visit(node: ts.Node, outer: string[]): void {
    let within = outer;
    const titled = titleOf(node);
    if (titled) {
      const { title, isGroup } = titled;
      if (isGroup) within = [...outer, title];
      else {
        const clause = /\(([^()]*)\)$/.exec(title);
        const keys = keysIn(clause?.[1] ?? '');
        const words = [...outer, title.slice(0, clause?.index).trim()].join(': ');
        if (keys.length > 0) found.push({ title: words, keys });
      }
    }
    ts.forEachChild(node, (child) => visit(child, within));
  }
}

/** The clause in parentheses at the end of each title of a file: the text before a function, in a call of any name. */
export function clausesIn(file: string, source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.arguments.some(ts.isFunctionLike)) {
      const clause = / \(([^()]*)\)$/.exec(textOf(node.arguments[0]) ?? '')?.[1];
      if (clause) found.push(clause);
    }
    ts.forEachChild(node, visit);
  };
  visit(parse(file, source));
  return found;
}

/** The title of test(…), it(…), browserTest(…) or describe(…), if it is in the source. */
function titleOf(node: ts.Node): { title: string; isGroup: boolean } | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  const root = rootOf(node.expression);
  const title = /^(?:test|it|browserTest|describe)$/.test(root) ? textOf(node.arguments[0]) : undefined;
  return title === undefined ? undefined : { title, isGroup: root === 'describe' };
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
