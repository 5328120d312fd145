// Decides which settings a command takes from the service whose database it opened, and which it reads itself.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { shownSettings } from './shown-settings.ts';

type Given = Readonly<Record<string, string>>;

/** Settings of one process and its machine, or secret: each program reads its own. */
const ofOneProcess = new Set([
  'PORT',
  'HOST',
  'WORKERS',
  'TRUST_PROXY',
  'FORWARD_AUTH_TRUST',
  'LOG_LEVEL',
  'UV_THREADPOOL_SIZE',
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_PREPARED_STATEMENTS',
  'DATABASE_POOL_SIZE',
  'DATABASE_WAIT',
  'DATA_DIR',
  'SECRET_KEY',
  'ADMIN_USERNAME',
  'ADMIN_PASSWORD',
  'PASSWORD_HASH_CONCURRENCY',
  'PASSWORD_HASH_QUEUE',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_PROTOCOL',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_EXPORTER_OTLP_CERTIFICATE',
  'OTEL_SERVICE_NAME',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  // paths that lead elsewhere from another folder
  'LOGO_FILE',
  'LOGO_DARK_FILE',
  'FAVICON_FILE',
  'TEMPLATES_DIR',
]);

/** The settings that the service stores for commands. @param shown without secrets @param issuer also where it follows PORT */
export const settingsForCommands = (shown: Given, issuer: string): Given => ({
  ...Object.fromEntries(Object.entries(shown).filter(([name]) => !ofOneProcess.has(name))),
  BASE_URL: issuer,
});

export interface Adopted {
  /** The settings of the command, with those of the service in place of the shell's. */
  given: Record<string, string>;
  /** The settings of the shell that say something else. */
  overruled: string[];
}

/**
 * @param own the settings of the shell @param service what settingsForCommands() returned at the start of the service
 * @param rules of all settings; a value that they refuse is that of another version, or an address that is useless without its secret part
 */
export function adoptSettings(own: Given, service: Given, rules: Readonly<Record<string, z.ZodType>>): Adopted {
  const given = new Map(Object.entries(own));
  const overruled: string[] = [];
  for (const [name, rule] of Object.entries(rules)) {
    const [mine, theirs] = [own[name], service[name]];
    if (ofOneProcess.has(name) || mine === theirs || isStoredAs(name, mine, theirs)) continue;
    const known = rule.safeParse(theirs);
    if (mine !== undefined && !isDeepStrictEqual(rule.safeParse(mine).data, known.data)) overruled.push(name);
    if (theirs !== undefined && known.success) given.set(name, theirs);
    else given.delete(name);
  }
  return { given: Object.fromEntries(given), overruled };
}

/** An address is stored without its credentials: the shell's is the same, and has them. */
const isStoredAs = (name: string, mine: string | undefined, theirs: string | undefined): boolean =>
  mine !== undefined && shownSettings({ [name]: mine })[name] === theirs;
