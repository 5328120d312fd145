// Performs the administrator's operations of the demonstration: creates the sample users and approves the sample applications, on the
// service's database.
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import type { Config } from '../src/config.ts';
import { makeFolder } from '../src/config/data-dir.ts';
import { openServiceDatabase } from '../src/database/service-database.ts';
import { createPasswordHashing } from '../src/crypto/password-hashing.ts';
import { type Administration, createAdministration } from '../src/domain/administration/administration.ts';
import { authorizationDetailsTypeAdministration } from '../src/domain/administration/authorization-details-types.ts';
import { exchangePolicyAdministration } from '../src/domain/administration/exchange-policies.ts';
import { authorizationDetailsTypes } from '../src/entities/authorization-details-types.ts';
import { newShape } from '../src/entities/entity.ts';
import { exchangePolicies } from '../src/entities/exchange-policies.ts';
import { resources } from '../src/entities/resources.ts';
import { createStore, type Store } from '../src/repositories/store.ts';
import { mcpResource } from './mcp-server.ts';
import type { ApplicationRegistration } from './application-server.ts';
import type { BankRegistration } from './bank.ts';
import { gatewayDeclarations, type GatewayRegistrations } from './gateway.ts';
import { paymentType } from './payments.ts';
import type { Registered, SecretRegistration } from './registration.ts';
import type { SiteRegistration } from './protected-site.ts';
import type { SamlRegistration } from './saml-application.ts';

/** The demonstration cannot continue; the message is one sentence for the user who started it. */
export class DemoError extends Error {}

/** The state that the demonstration keeps from one start to the next. */
export interface Notes {
  registration?: SecretRegistration | undefined;
  /** The application server's registration. */
  applicationRegistration?: ApplicationRegistration | undefined;
  /** The television's registration. */
  deviceRegistration?: Registered | undefined;
  /** The bank's registration, with its private key. */
  bankRegistration?: BankRegistration | undefined;
  /** The SAML application's registration, with its private key. */
  samlRegistration?: SamlRegistration | undefined;
  /** The registrations of the gateway and of the application that calls it. */
  gatewayRegistrations?: GatewayRegistrations | undefined;
  /** The registration of the bank's counter. */
  counterRegistration?: SecretRegistration | undefined;
  /** The protected site's registration, with the secret of its proxy. */
  siteRegistration?: SiteRegistration | undefined;
  /** The passwords of the sample users that the demonstration created, by user name. */
  passwords?: Record<string, string | undefined> | undefined;
}

export const sampleUser = {
  username: 'alice',
  email: 'alice@example.com',
  emailVerified: true,
  groups: ['crew', 'harbour-masters'],
  claims: {
    name: 'Alice Adams',
    given_name: 'Alice',
    family_name: 'Adams',
    middle_name: 'Mary',
    nickname: 'Al',
    profile: 'https://example.com/alice',
    picture: 'https://example.com/alice/picture.jpg',
    website: 'https://alice.example.com',
    gender: 'female',
    birthdate: '1990-05-17',
    zoneinfo: 'Europe/Lisbon',
    locale: 'en-GB',
    address: {
      street_address: '12 Quay Street',
      locality: 'Port Ellen',
      region: 'Argyll',
      postal_code: 'PA42 7DF',
      country: 'United Kingdom',
    },
    phone_number: '+44 1496 555 0123',
    phone_number_verified: false,
  },
};
/** A user outside the group that has access to the application server. */
export const otherUser = {
  username: 'bob',
  email: 'bob@example.com',
  emailVerified: true,
  groups: ['crew'],
  claims: { name: 'Bob Brown', given_name: 'Bob', family_name: 'Brown', locale: 'en-GB' },
};
const by = { actor: 'demonstration' };

/** Approves a registration, as `bin/gatehouse client approve` does. */
export function approveClient(config: Config, clientId: string): Promise<void> {
  return withDatabase(config, async ({ store, administration }) => {
    const client = await store.clients.find(clientId);
    if (!client) {
      throw new DemoError(
        `A service answers at ${config.issuer}, but its data is elsewhere: stop it, or set DATA_DIR or DATABASE_URL as it has them.`,
      );
    }
    await administration.approveClient(by, clientId, client.version);
  });
}

/** Trusts a client to ask every user by backchannel requests, as `bin/gatehouse client change ID --ciba-trusted` does. */
export function trustForBackchannel(config: Config, clientId: string): Promise<void> {
  return withDatabase(config, async ({ administration }) => {
    await administration.changeClient(by, clientId, () => ({ ciba_trusted: true }));
  });
}

/** Declares the payments of the sample bank unless they are, as `bin/gatehouse authorization-details-type create` does. */
export function ensurePaymentType(config: Config): Promise<void> {
  return withDatabase(config, async ({ store }) => {
    if (await store.authorizationDetailsTypes.find(paymentType.type)) return;
    const types = authorizationDetailsTypeAdministration(store, config.issuer);
    await types.create(by, newShape(authorizationDetailsTypes).parse(paymentType));
  });
}

/** Creates the APIs of the gateway and the policy by which it exchanges, as `resource create` and `exchange-policy create` do. */
export function ensureExchange(config: Config, registrations: GatewayRegistrations): Promise<void> {
  return withDatabase(config, async ({ store, administration }) => {
    const declared = gatewayDeclarations(registrations);
    for (const { resource, ...members } of declared.resources) {
      if (await store.resources.find(resource)) await administration.resources.change(by, resource, members);
      else await administration.resources.create(by, newShape(resources).parse({ resource, ...members }));
    }
    const policies = exchangePolicyAdministration(store, config.issuer);
    const { policy } = declared;
    const existing = await store.exchangePolicies.find(policy.name);
    // a policy stays with its client: the gateway may have registered anew
    if (existing && existing.clientId !== policy.client_id) await policies.remove(by, policy.name);
    if (existing?.clientId === policy.client_id)
      await policies.change(by, policy.name, { subject_clients: policy.subject_clients });
    else await policies.create(by, newShape(exchangePolicies).parse(policy));
  });
}

/** Registers the sample server of the Model Context Protocol as a resource unless it is one, as `bin/gatehouse resource create` does. */
export function ensureMcpResource(config: Config, resource: string): Promise<void> {
  return withDatabase(config, async ({ store, administration }) => {
    if (await store.resources.find(resource)) return;
    await administration.resources.create(by, newShape(resources).parse({ resource, ...mcpResource }));
  });
}

/** Creates a sample user unless it exists. Returns its password, or undefined when another program set it. */
export function ensureUser(
  config: Config,
  sample: typeof sampleUser | typeof otherUser,
  known: string | undefined,
): Promise<string | undefined> {
  return withDatabase(config, async ({ store, administration }) => {
    const passwords = createPasswordHashing();
    const user = await store.users.findByUsername(sample.username);
    if (user) {
      const valid = known !== undefined && user.passwordHash && (await passwords.verify(user.passwordHash, known));
      return valid ? known : undefined;
    }
    const password = newPassword();
    await administration.createUser(by, { ...sample, passwordHash: await passwords.hash(password) });
    return password;
  });
}

export function readNotes(dataDir: string): Notes {
  try {
    return JSON.parse(readFileSync(notesFile(dataDir), 'utf8')) as Notes;
  } catch {
    return {};
  }
}

/** Readable only by the owner of the files: they hold the sample applications' secrets. */
export function keepNotes(dataDir: string, notes: Notes): void {
  makeFolder(dataDir);
  writeFileSync(notesFile(dataDir), `${JSON.stringify(notes, undefined, 2)}\n`, { mode: 0o600 });
}

const notesFile = (dataDir: string) => join(dataDir, 'demo.json');

/** Opens the service's own database: the embedded server is shared when it runs. */
async function withDatabase<T>(
  config: Config,
  work: (context: { store: Store; administration: Administration }) => Promise<T>,
): Promise<T> {
  const connection = await openServiceDatabase(config, pino({ level: 'silent' }), { create: false });
  try {
    await connection.migrate({ create: false });
    const store = createStore(connection.database);
    return await work({ store, administration: createAdministration(store) });
  } finally {
    await connection.close();
  }
}

/** Three groups of four letters and digits that cannot be confused with one another. */
function newPassword(): string {
  const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';
  const group = () => Array.from({ length: 4 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return [group(), group(), group()].join('-');
}
