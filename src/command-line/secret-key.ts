// Defines the command that encrypts every stored value with the first key of SECRET_KEY; docs/operator.md describes the whole rotation.
import { reencrypt } from '../domain/keys/encryption-at-rest.ts';
import { by, type Command, parse, type Terminal, withDatabase } from './command.ts';

const progressStep = 1000;

/** Rewrites one line on a terminal, and writes a line for every thousand values elsewhere. */
function progressTo({ stderr }: Terminal): (done: number, total: number) => void {
  let next = progressStep;
  return (done, total) => {
    const text = `${done} of ${total} values`;
    if (stderr.isTTY) stderr.write(`\r${text}${done >= total ? '\n' : ''}`);
    else if (done >= next) stderr.write(`${text}\n`);
    next = done - (done % progressStep) + progressStep;
  };
}

export const secretKeyCommands: Record<string, Command> = {
  'secret-key reencrypt': {
    usage: '',
    summary:
      'Encrypts every stored value with the first key of SECRET_KEY while instances serve, and names the keys that are no longer needed. It refuses while an instance encrypts with another key. After an interruption, the next run continues.',
    async run(config, args, terminal) {
      parse(args, {});
      const { id, lifetimes, values, notNeeded } = await withDatabase(
        config,
        terminal,
        async ({ store, keys, ...context }) => ({
          id: keys[0].id,
          lifetimes: context.config.lifetimes,
          ...(await reencrypt(store, { ...context, keys }, by, progressTo(terminal))),
        }),
      );
      // forms and verification codes have digests under the key that was first when they were made
      const wait = Math.max(lifetimes.form, lifetimes.registrationCode);
      const next =
        notNeeded.length > 0
          ? `No longer needed: ${notNeeded.join(', ')}. Keep only the first key of SECRET_KEY on all instances, ${wait} seconds from now or later: forms and codes that were created with another key are valid until then.`
          : 'SECRET_KEY contains no other key.';
      return {
        json: { secret_key_id: id, values, not_needed: notNeeded, not_needed_in: notNeeded.length > 0 ? wait : 0 },
        text: `Reencrypted ${values} values; all values are encrypted with the key ${id}.\n${next}`,
      };
    },
  },
};
