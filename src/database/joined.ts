// One statement in place of several: askers of the same who wait at the same time are asked for together, and each gets its own rows.
import { newPart, type Part } from './batch.ts';
import type { Statement } from './database.ts';

/** What asks for as many of a statement. */
export function statementOf(statement: Statement, count: number): Statement {
  return count > 1 ? statement.many! : statement;
}

/** A part that does what these do, which are of one statement. */
export function join(parts: readonly Part[]): Part {
  const [first] = parts;
  if (parts.length === 1) return first!;
  const columns = first!.parameters.map((_, index) => parts.map(({ parameters }) => parameters[index]));
  return newPart(first!.statement.many!, columns);
}

/** Gives each the rows that its place says. */
export function share(joined: Part, parts: readonly Part[]): void {
  if (parts.length === 1) return;
  for (const row of joined.rows as { place: number }[]) parts[row.place - 1]!.rows.push(row);
}
