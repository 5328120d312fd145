// The commands for users.
import { text as readAll } from 'node:stream/consumers';
import type { Config } from '../config.ts';
import { createPasswordHashing } from '../crypto/password-hashing.ts';
import { secondFactorView, userView } from '../domain/administrator-views.ts';
import { recoveryUri } from '../tokens/recovery-uri.ts';
import { createPasswordPolicy, type PasswordPolicy } from '../domain/password-policy.ts';
import { isTextClaim, newUserShape, password as passwordShape } from '../oauth/administration.ts';
import { invalidRequest } from '../oauth/errors.ts';
import { firstRefusal } from '../oauth/refusals.ts';
import { createGuardedFetch } from '../outbound/guarded-fetch.ts';
import { newOpaqueToken } from '../tokens/opaque-token.ts';
import {
  by,
  type Command,
  findUser,
  listLimit,
  parse,
  table,
  type Terminal,
  UsageError,
  withDatabase,
} from './command.ts';

async function readPassword(config: Config, { stdin }: Terminal): Promise<string> {
  if (stdin.isTTY)
    throw new UsageError('Pipe the password in: printf %s "$PASSWORD" | npm run -s idp -- … --password-stdin');
  const given = (await readAll(stdin)).replace(/\r?\n$/, '');
  const checked = passwordShape(config.passwordMinLength).safeParse(given);
  if (!checked.success) throw invalidRequest(firstRefusal(checked.error, 'the password'));
  return given;
}

/** @throws OAuthError invalid_request for a password that others try, too */
async function hashPassword(
  config: Config,
  password: string,
  person: Parameters<PasswordPolicy>[1],
  { stderr }: Terminal,
): Promise<string> {
  const fetchDocument = createGuardedFetch(config.outboundAllow);
  const log = { warn: (_line: object, message: string) => void stderr.write(`${message}\n`) };
  await createPasswordPolicy(config.passwordBreachCheck, fetchDocument, log)(password, person);
  return createPasswordHashing().hash(password);
}

/** `name=value` pairs; a value that parses as a JSON object, number or boolean is one unless its claim is text, else it is text. */
function readPairs(pairs: string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new UsageError(`--claim takes name=value, not ${pair}.`);
      const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)];
      return [name, isTextClaim(name) ? value : readValue(value)];
    }),
  );
}

function readValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return (typeof value === 'object' && value !== null) || typeof value === 'number' || typeof value === 'boolean'
      ? value
      : text;
  } catch {
    return text;
  }
}

export const userCommands: Record<string, Command> = {
  'user create': {
    usage: '--username NAME [--email E] [--claim name=value …] [--group G …] [--admin] --password-stdin',
    summary: 'Makes a user; the password comes by standard input.',
    async run(config, args, terminal) {
      const { values } = parse(args, {
        username: { type: 'string' },
        email: { type: 'string' },
        claim: { type: 'string', multiple: true, default: [] },
        group: { type: 'string', multiple: true, default: [] },
        admin: { type: 'boolean', default: false },
        'password-stdin': { type: 'boolean', default: false },
      });
      if (values.username === undefined) throw new UsageError('The option --username is missing.');
      if (!values['password-stdin'])
        throw new UsageError('Add --password-stdin and pipe the password in: it must not stand on a command line.');
      const password = await readPassword(config, terminal);
      const { email_verified, ...claims } = readPairs(values.claim);
      const shaped = newUserShape(config.passwordMinLength).safeParse({
        username: values.username,
        email: values.email,
        email_verified,
        groups: values.group,
        admin: values.admin,
        claims,
      });
      if (!shaped.success) throw invalidRequest(firstRefusal(shaped.error, 'the user'));
      const passwordHash = await hashPassword(config, password, shaped.data, terminal);
      const user = await withDatabase(config, ({ administration }) =>
        administration.createUser(by, {
          username: shaped.data.username,
          email: shaped.data.email,
          emailVerified: shaped.data.email_verified,
          groups: shaped.data.groups,
          admin: shaped.data.admin,
          claims: shaped.data.claims,
          passwordHash,
        }),
      );
      return {
        json: userView(user),
        text: `The user ${user.username} is made (sub ${user.sub}); sign in at ${config.issuer}/login`,
      };
    },
  },
  'user list': {
    usage: '',
    summary: 'Lists the newest users.',
    async run(config, args) {
      parse(args, {});
      const users = await withDatabase(config, ({ store }) => store.users.list({ limit: listLimit, after: undefined }));
      return {
        json: users.map(userView),
        text: table(
          ['USERNAME', 'STATUS', 'ADMIN', 'EMAIL', 'SUB'],
          users.map((user) => [user.username, user.status, user.admin ? 'yes' : '', user.email ?? '', user.sub]),
        ),
      };
    },
  },
  'user disable': {
    usage: 'NAME',
    summary: 'Disables a user and ends all sessions and tokens of it.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const { user, changed } = await withDatabase(config, async ({ store, administration }) =>
        administration.changeUser(by, (await findUser(store, positionals[0]!)).sub, { status: 'disabled' }),
      );
      return {
        json: userView(user),
        text: changed
          ? `The user ${user.username} is disabled; all sessions and tokens of it are dead.`
          : `The user ${user.username} was disabled before: nothing changed.`,
      };
    },
  },
  'user enable': {
    usage: 'NAME',
    summary: 'Lets a disabled user sign in again.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const { user, changed } = await withDatabase(config, async ({ store, administration }) =>
        administration.changeUser(by, (await findUser(store, positionals[0]!)).sub, { status: 'enabled' }),
      );
      return {
        json: userView(user),
        text: changed
          ? `The user ${user.username} is enabled.`
          : `The user ${user.username} was enabled before: nothing changed.`,
      };
    },
  },
  'user forget-failures': {
    usage: 'NAME',
    summary: 'Forgets the failed sign-ins of a user, who need not wait any more.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const { user, changed } = await withDatabase(config, async ({ store, administration }) =>
        administration.forgetFailures(by, (await findUser(store, positionals[0]!)).sub),
      );
      return {
        json: userView(user),
        text: changed
          ? `The failed sign-ins of ${user.username} are forgotten.`
          : `There were no failed sign-ins of ${user.username}: nothing changed.`,
      };
    },
  },
  'user recovery-link': {
    usage: 'NAME [--lifetime SECONDS]',
    summary: 'Makes a link, shown once, by which a user chooses another password; second factors stay demanded.',
    async run(config, args) {
      const { values, positionals } = parse(args, { lifetime: { type: 'string' } }, ['NAME']);
      const lifetime = values.lifetime === undefined ? config.lifetimes.recoveryLink : Number(values.lifetime);
      if (!Number.isSafeInteger(lifetime) || lifetime < 1 || lifetime > 30 * 86_400)
        throw new UsageError('--lifetime takes a whole number of seconds, 30 days at most.');
      const { token, hash } = newOpaqueToken('mailed_link');
      const expiresAt = await withDatabase(config, async ({ store, administration }) =>
        administration.createRecoveryLink(by, (await findUser(store, positionals[0]!)).sub, hash, lifetime),
      );
      const uri = recoveryUri(config.issuer, token);
      return {
        json: { recovery_uri: uri, expires_at: expiresAt.toISOString() },
        text: `${uri}\n\nIt works once, before ${expiresAt.toISOString()}. Hand it over on a way that nobody else reads.`,
      };
    },
  },
  'user second-factors': {
    usage: 'NAME',
    summary: 'Lists the second factors of a user.',
    async run(config, args) {
      const { positionals } = parse(args, {}, ['NAME']);
      const [factors, left] = await withDatabase(config, async ({ store }) => {
        const { sub } = await findUser(store, positionals[0]!);
        return Promise.all([store.secondFactors.list(sub), store.recoveryCodes.count(sub)]);
      });
      const rows = factors.map(({ id, kind, name, createdAt, usedAt }) => [
        id,
        kind,
        name,
        createdAt.toISOString(),
        usedAt?.toISOString() ?? '',
      ]);
      return {
        json: { second_factors: factors.map(secondFactorView), recovery_codes: left },
        text: `${table(['ID', 'KIND', 'NAME', 'ADDED', 'USED'], rows)}\nRecovery codes left: ${left}`,
      };
    },
  },
  'user remove-second-factor': {
    usage: 'NAME [--id ID]',
    summary: 'Takes the second factors of a user away, or the one named: for somebody who has lost them.',
    async run(config, args) {
      const { values, positionals } = parse(args, { id: { type: 'string' } }, ['NAME']);
      const removed = await withDatabase(config, async ({ store, administration }) =>
        administration.removeSecondFactor(by, (await findUser(store, positionals[0]!)).sub, values.id),
      );
      return {
        json: { removed: removed.map(secondFactorView) },
        text:
          removed.length > 0
            ? `${removed.length} of the second factors of ${positionals[0]} ${removed.length === 1 ? 'is' : 'are'} removed.`
            : `The user ${positionals[0]} had no second factor: nothing changed.`,
      };
    },
  },
  'user set-password': {
    usage: 'NAME --password-stdin',
    summary: 'Sets a password and ends all sessions of the user.',
    async run(config, args, terminal) {
      const { values, positionals } = parse(args, { 'password-stdin': { type: 'boolean', default: false } }, ['NAME']);
      if (!values['password-stdin'])
        throw new UsageError('Add --password-stdin and pipe the password in: it must not stand on a command line.');
      const password = await readPassword(config, terminal);
      const { user } = await withDatabase(config, async ({ store, administration }) => {
        const person = await findUser(store, positionals[0]!);
        return administration.changeUser(by, person.sub, {}, await hashPassword(config, password, person, terminal));
      });
      return { json: userView(user), text: `The password of ${user.username} is set; all sessions of it have ended.` };
    },
  },
};
