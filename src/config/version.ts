// Reads the version of this installation from package.json.
import { readFileSync } from 'node:fs';

export function installedVersion(): string {
  const described = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(described) as { version: string }).version;
}
