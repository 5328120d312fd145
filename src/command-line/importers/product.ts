// Defines a product from which users and configuration are moved in.
import type { Move } from './move.ts';

/** An export that was recognized as one of the product. */
export interface Source {
  /** The name of the set of files. */
  name: string;
  moveTo(move: Move): Promise<void>;
}

export interface Product {
  /** The word of the command: `import NAME`. */
  name: string;
  title: string;
  /** The names of the arguments; one in brackets may be missing. */
  files: readonly string[];
  /** Options with a file, each with its description. */
  options?: Readonly<Record<string, string>>;
  summary: string;
  /** Loads the code that reads the export: no other command needs it. */
  load(): Promise<{
    /** Reads as much as it takes to recognize the export. @throws UsageError with a sentence if it is of no such product */
    open(files: readonly string[], options: Readonly<Record<string, string | undefined>>): Promise<Source>;
  }>;
}
