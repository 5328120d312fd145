// Reads the secrets that a configuration file names: from variables and files of the command line, or made by the service; never for a request (federation FR45).
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { type Config, foreignVariable, isSettingName, ownSecretsOf } from '../../../config.ts';
import type { OwnSecrets } from '../../../config/own-secrets.ts';
import { randomSecret } from '../../../crypto/secrets.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import type { SecretSource } from '../../../entities/file.ts';
import type { Secret } from './noun.ts';

/** @throws OAuthError invalid_request, whose sentence never has the secret */
export type ReadSecret = (source: SecretSource, member: string) => Secret;

const maxSecret = 64 * 1024; // bytes
/** The folders in which systems hand secrets to services, beside that of the file. */
const secretFolders = ['/run/secrets', '/run/credentials'];
/** Files of the system, such as the variables of this process: a stored plan names its folder. */
const systemFiles = /^\/(proc|sys)\//;

function fromVariable(name: string, member: string, config: Config): string {
  // the service has secrets of its own, which no client or provider may learn
  if (isSettingName(name)) throw invalidRequest(`${member} names ${name}, which is a setting of this service`);
  const value = foreignVariable(config, name);
  if (!value) throw invalidRequest(`${member} names the variable ${name}, which is not set`);
  return value;
}

function fromFile(named: string, member: string, folder: string, own: OwnSecrets): string {
  const path = isAbsolute(named) ? named : join(folder, named);
  try {
    const real = realpathSync(path);
    const isWithin =
      !systemFiles.test(real) &&
      [folder, ...secretFolders].some((one) => {
        try {
          return real.startsWith(realpathSync(one) + sep);
        } catch {
          return false;
        }
      });
    if (!isWithin)
      throw invalidRequest(
        `${member} names a file outside of the folder of the configuration and of ${secretFolders.join(' and ')}`,
      );
    if (own.isFile(real)) throw invalidRequest(`${member} names a file of this service`);
    const stats = statSync(real);
    if (!stats.isFile() || stats.size > maxSecret) throw invalidRequest(`${member} names no file of at most 64 KiB`);
    // a final newline comes from the program that wrote the file
    return readFileSync(real, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw invalidRequest(`${member} names the file ${named}, which cannot be read`);
  }
}

/**
 * @param file the configuration file, or its folder, to which paths are relative
 * @param config that of the process, with its variables
 */
export function secretReader(file: string, config: Config): ReadSecret {
  const path = resolve(file);
  const folder = isFolder(path) ? path : dirname(path);
  const own = ownSecretsOf(config);
  return (source, member) => {
    if (source.generate) return { source, value: undefined };
    const value =
      source.env === undefined ? fromFile(source.file!, member, folder, own) : fromVariable(source.env, member, config);
    if (own.isIn(value)) throw invalidRequest(`${member} has a secret or a setting of this service`);
    return { source, value };
  };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** A request names no variable and no file of the service. */
export const refuseSecrets: ReadSecret = (_source, member) => {
  throw invalidRequest(`${member}: a request names no variable, no file and no generated secret: use the command line`);
};

/** The value of a secret that is made now. @param make as its noun has it, if that says so */
export const made = ({ source, value }: Secret, make = randomSecret): Secret => ({ source, value: value ?? make() });
