// Writes the report of an import as it goes along: what has no counterpart, and what was left out.
import type { WriteStream } from 'node:fs';
import { harmless } from '../../admin/operations/text-table.ts';

export interface Report {
  /** Begins a part of the report. */
  section(title: string): void;
  /** @param about what it is about, such as `client shop`; any text of the file @param said a sentence; values are put in by quoted() */
  note(about: string, said: string): void;
  /** The number of notes so far. */
  readonly notes: number;
}

/** Text of a file, as a report may show it: in one line, short, and not as Markdown. */
export function quoted(text: string): string {
  const shown = harmless(text.length > 200 ? `${text.slice(0, 200)}…` : text).replaceAll('`', '´');
  return `\`${shown}\``;
}

export function createReport(out: Pick<WriteStream, 'write'>): Report {
  let notes = 0;
  return {
    section: (title) => void out.write(`\n## ${title}\n\n`),
    note(about, said) {
      notes++;
      const [noun = '', ...name] = about.split(' ');
      out.write(`- ${noun}${name.length > 0 ? ` ${quoted(name.join(' '))}` : ''}: ${harmless(said)}\n`);
    },
    get notes() {
      return notes;
    },
  };
}
