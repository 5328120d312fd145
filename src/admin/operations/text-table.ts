// Renders results for a terminal as tables, and removes characters from untrusted text that move the cursor.

/** Removes characters that could move the cursor or change the direction of the text. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

/** One word of a command that an administrator copies into a shell. */
export function shellWord(value: string): string {
  const word = harmless(value);
  return /^[\w@.:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Renders a table whose columns are as wide as their widest cells. */
export function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows].map((row) => row.map(harmless));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Renders one line for each member that has a value. */
export function facts(view: object): string {
  return Object.entries(view)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.padEnd(32)}${harmless(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('\n');
}
