// Recognises what the service keeps secret itself: a configuration file must not make it the secret of a client or a connection (federation FR45).
import { realpathSync } from 'node:fs';
import { basename, sep } from 'node:path';

export interface OwnSecrets {
  /** Whether a file, by its real path, holds settings or data of the service. */
  isFile(path: string): boolean;
  /** Whether a text has a secret of the service, or is a file of settings. */
  isIn(text: string): boolean;
}

/** A shorter one could be a part of other secrets by chance. */
const minPart = 20; // characters

/** The files that Node reads settings from. */
const environmentFiles = (options: readonly string[]): string[] =>
  options.flatMap((option, index) => {
    const [, named] = /^--env-file(?:-if-exists)?(?:=(.*))?$/s.exec(option) ?? [option, null];
    if (named === null) return [];
    return named === undefined ? (options[index + 1] ?? []) : [named];
  });

/** @param secrets those of the settings, with their names @param variables those of the process */
export function ownSecrets(
  secrets: readonly (readonly [string, string])[],
  variables: Readonly<Record<string, string | undefined>>,
  { dataDir, isSettingName }: { dataDir: string; isSettingName(name: string): boolean },
): OwnSecrets {
  const values = secrets.map(([, value]) => value.replace(/=$/, '')).filter((value) => value !== '');
  // programs that start services hand secrets on in files, such as SECRET_KEY_FILE
  const named = Object.entries(variables).flatMap(([name, file]) =>
    file && name.endsWith('_FILE') && isSettingName(name.slice(0, -'_FILE'.length)) ? [file] : [],
  );
  const files = [
    ...named,
    ...environmentFiles([...process.execArgv, ...(variables['NODE_OPTIONS'] ?? '').split(/\s+/)]),
  ];
  return {
    isFile: (path) =>
      /^\.env(\.|$)/.test(basename(path)) ||
      files.some((file) => realOf(file) === path) ||
      path.startsWith((realOf(dataDir) ?? dataDir) + sep),
    isIn: (text) =>
      values.some((value) => text === value || (value.length >= minPart && text.includes(value))) ||
      [...text.matchAll(/^(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=/gm)].some(([, name]) => isSettingName(name!)),
  };
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
