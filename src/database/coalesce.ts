// Coalesces equal statements that wait at the same time into one, and returns to each caller its own rows.
import { newPart, type Part } from './batch.ts';
import type { Statement } from './statement.ts';

interface Waiting {
  readonly part: Part;
}

/** The statement to send for a group of callers, who all wait for the same statement. */
export function statementOf(group: readonly Waiting[]): Statement {
  const { statement } = group[0]!.part;
  return group.length === 1 ? statement : statement.many!;
}

/** The part to send for a group of callers. */
export function coalesce(group: readonly Waiting[]): Part {
  const { part } = group[0]!;
  if (group.length === 1) return part;
  const columns = part.parameters.map((_, index) => group.map((waiting) => waiting.part.parameters[index]));
  return newPart(part.statement.many!, columns);
}

/** Gives each row to the caller whose number is its `place`. */
export function distribute({ rows }: Part, group: readonly Waiting[]): void {
  if (group.length === 1) return;
  for (const row of rows as { place: number }[]) group[row.place - 1]!.part.rows.push(row);
}
