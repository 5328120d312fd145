// Finds the names that are most like a typed one.

/** The three names that differ least from the typed one. */
export function nearestOf(typed: string, names: readonly string[]): string[] {
  const distances = names.map((name) => [name, distance(typed, name)] as const);
  return distances
    .sort((one, other) => one[1] - other[1])
    .slice(0, 3)
    .map(([name]) => name);
}

/** The number of letters to add, remove or replace (Levenshtein distance). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= other.length; at++)
      next[at] = Math.min(next[at - 1]! + 1, row[at]! + 1, row[at - 1]! + (other[at - 1] === letter ? 0 : 1));
    row = next;
  }
  return row[other.length]!;
}
