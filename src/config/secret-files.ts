// Reads secret settings from files: SECRET_KEY_FILE names the file that has the value of SECRET_KEY, as programs that run containers hand secrets on.
import { readFileSync } from 'node:fs';

const largest = 65_536; // characters

/**
 * The values of the settings whose files are named.
 * @param names of the settings that may be in a file
 * @param refuse takes the name of a variable and the rest of the sentence; no sentence has a part of a file (security R99)
 */
export function readSecretFiles(
  names: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  refuse: (name: string, message: string) => never,
): Record<string, string> {
  const read: Record<string, string> = {};
  for (const name of names) {
    const variable = `${name}_FILE`;
    const file = variables[variable];
    if (!file) continue;
    if (variables[name]) refuse(variable, `is set beside ${name}: remove one of them`);
    let content: string;
    try {
      content = readFileSync(file, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      refuse(variable, `names a file that this process cannot read (${code ?? 'no code'}): ${file}`);
    }
    // the last newline comes from the editor or the program that wrote the file
    read[name] = content.replace(/\r?\n$/, '');
    if (read[name] === '') refuse(variable, `names an empty file: ${file}`);
    if (content.length > largest) refuse(variable, `names a file with more than ${largest} characters: ${file}`);
  }
  return read;
}
