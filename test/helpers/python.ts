// Computes values with Python, which is another program than the service.
import { execFileSync } from 'node:child_process';

/** The lines that a script prints. @param input is on its standard input, as JSON */
export const linesOfPython = (script: string, input: unknown): string[] =>
  execFileSync('python3', ['-c', script], { input: JSON.stringify(input), encoding: 'utf8' })
    .trim()
    .split('\n');
