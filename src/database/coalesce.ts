// One statement in place of several: askers of the same who wait at the same time are asked for together, and each gets its own rows.
import { newPart, type Part } from './batch.ts';
import type { Statement } from './statement.ts';

interface Asker {
  readonly part: Part;
}

/** What asks for them, who are of one statement. */
export function statementOf(askers: readonly Asker[]): Statement {
  const { statement } = askers[0]!.part;
  return askers.length === 1 ? statement : statement.many!;
}

/** A part that asks for them. */
export function join(askers: readonly Asker[]): Part {
  const { part } = askers[0]!;
  if (askers.length === 1) return part;
  const columns = part.parameters.map((_, index) => askers.map((asker) => asker.part.parameters[index]));
  return newPart(part.statement.many!, columns);
}

/** Gives each of them the rows that its place says. */
export function share({ rows }: Part, askers: readonly Asker[]): void {
  if (askers.length === 1) return;
  for (const row of rows as { place: number }[]) askers[row.place - 1]!.part.rows.push(row);
}
