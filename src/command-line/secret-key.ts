// The commands that replace SECRET_KEY, and the data keys under it, while the service runs; docs/operator.md has the order of them.
import { text as readAll } from 'node:stream/consumers';
import { secretKey as secretKeyShape } from '../config/setting-types.ts';
import { secretKeyId } from '../crypto/data-key.ts';
import { randomSecret } from '../crypto/secrets.ts';
import { invalidRequest } from '../oauth/errors.ts';
import { addSecretKey, reencrypt, retireSecretKeys, secretKeyStatus } from '../tokens/secret-key-rotation.ts';
import { by, type Command, parse, table, type Terminal, UsageError, withDatabase } from './command.ts';

async function readSecretKey({ stdin }: Terminal): Promise<string> {
  if (stdin.isTTY) throw new UsageError('Pipe the key in: npm run -s idp -- secret-key rotate --key-stdin < FILE');
  const checked = secretKeyShape.safeParse((await readAll(stdin)).trim());
  if (!checked.success) throw invalidRequest(`the key ${checked.error.issues[0]!.message}`);
  return checked.data;
}

export const secretKeyCommands: Record<string, Command> = {
  'secret-key status': {
    usage: '',
    summary: 'Shows which SECRET_KEYs can start the service, what each data key has encrypted, and what instances use.',
    async run(config, args) {
      parse(args, {});
      return withDatabase(config, async ({ store, secretKey }) => {
        const { secretKeys, dataKeys, instances } = await secretKeyStatus(store);
        const given = secretKeyId(secretKey);
        return {
          json: {
            secret_keys: secretKeys.map((id) => ({ id, given: id === given })),
            data_keys: dataKeys.map((key) => ({
              ...{ version: key.version, created_at: key.createdAt.toISOString(), encrypts: key.seals },
              ...{ values: key.values, expires_at: key.expiresAt?.toISOString() },
            })),
            instances: instances.map(({ secretKeyId: id, current }) => ({ secret_key_id: id, data_key: current })),
          },
          text: [
            table(
              ['SECRET_KEY', 'INSTANCES', 'THIS COMMAND'],
              secretKeys.map((id) => [
                id,
                String(instances.filter((instance) => instance.secretKeyId === id).length),
                id === given ? 'uses it' : '',
              ]),
            ),
            table(
              ['DATA KEY', 'VALUES', 'ENCRYPTS', 'INSTANCES', 'MADE', 'KEPT UNTIL'],
              dataKeys.map((key) => [
                String(key.version),
                String(key.values),
                key.seals ? 'yes' : '',
                String(instances.filter(({ current }) => current === key.version).length),
                key.createdAt.toISOString(),
                key.expiresAt?.toISOString() ?? '',
              ]),
            ),
          ].join('\n\n'),
        };
      });
    },
  },
  'secret-key rotate': {
    usage: '[--key-stdin]',
    summary:
      'Lets instances start with another SECRET_KEY too: one that is made up and printed once, or one by standard input. The one in DATA_DIR is replaced.',
    async run(config, args, terminal) {
      const { values } = parse(args, { 'key-stdin': { type: 'boolean', default: false } });
      const given = values['key-stdin'] ? await readSecretKey(terminal) : undefined;
      const added = given ?? randomSecret();
      return withDatabase(config, async ({ store, secretKey, keepSecretKey }) => {
        const id = await addSecretKey(store, secretKey, added, by);
        keepSecretKey?.(added);
        const shown = given === undefined && !keepSecretKey ? added : undefined;
        const where = keepSecretKey
          ? `The new key ${id} is in DATA_DIR.`
          : `The new SECRET_KEY has the id ${id}.${shown === undefined ? '' : ` It is shown once:\n\n  ${shown}\n`}`;
        return {
          json: { secret_key_id: id, secret_key: shown },
          text: `${where}\nRestart each instance with it, then: npm run -s idp -- secret-key retire`,
        };
      });
    },
  },
  'secret-key retire': {
    usage: '',
    summary:
      'With the new SECRET_KEY: no instance starts with another one any more. Refused while one runs with another one.',
    async run(config, args) {
      parse(args, {});
      const retired = await withDatabase(config, ({ store, secretKey }) => retireSecretKeys(store, secretKey, by));
      return {
        json: { retired },
        text:
          retired.length > 0
            ? `Retired: ${retired.join(', ')}. If it leaked, encrypt all anew: npm run -s idp -- secret-key reencrypt`
            : 'No other SECRET_KEY was in use.',
      };
    },
  },
  'secret-key reencrypt': {
    usage: '',
    summary:
      'Makes a new data key and encrypts everything anew with it, while instances serve; broken off, it goes on where it was. secret-key status shows how far it is.',
    async run(config, args) {
      parse(args, {});
      // forms and verification codes that were made with the old key are good as long as they live
      const validFor = Math.max(config.lifetimes.form, config.lifetimes.registrationCode);
      const { version, values } = await withDatabase(config, ({ store, secretKey }) =>
        reencrypt(store, secretKey, validFor, by),
      );
      return {
        json: { data_key: version, values },
        text: `Data key ${version} encrypts now; ${values} values were encrypted anew. The key before goes in ${validFor} seconds.`,
      };
    },
  },
};
