// Whatever names an export of another product has, what its importer writes is applied and imported. FUZZ_RUNS is the number of generated
// exports, 25 runs for one of each product; FUZZ_SEED gives other names.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MovedIn, moveIn, startImports } from '../helpers/exports.ts';
import { keycloakCode, keycloakHash } from '../helpers/keycloak-realm.ts';
import { startTestService } from '../helpers/service.ts';
import { runCommand } from '../helpers/command-line.ts';
import { namesOf, oddNames } from './names.ts';

const rounds = Math.ceil(Number(process.env['FUZZ_RUNS'] ?? 25) / 25);
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_127);

let imports: ReturnType<typeof startImports>;
beforeAll(() => {
  imports = startImports();
});
afterAll(() => imports.remove());

/** JSON in ASCII, which is YAML, too: a character that stands for itself in no file would end the import of the whole file. */
const escaped = (files: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(files).map(([name, content]) => {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      const code = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
      return [name, text.replace(/[^\n\x20-\x7e]/g, code)];
    }),
  );

type Name = () => string;
/** Each odd name first, in its turn, and then generated ones. */
const allOdd = (name: Name): Name => {
  const odd = [...oddNames];
  return () => odd.shift() ?? name();
};
/** No user has the id of a client: most clients have another one than the users. */
const ofClients = (names: readonly string[]) => names.map((id, index) => (index % 4 === 0 ? id : `c${id}`));
const many = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index));
const callback = 'https://app.example/callback';
const strong = 'aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4fG';
const hash = keycloakHash('pbkdf2-sha256', 1000, Buffer.alloc(64, 1).toString('base64'));
const count = oddNames.length + 20;
/** A hostile text in every third place. */
const textOr = (name: Name, usual: string, index: number) => (index % 3 === 0 ? name() : usual);

function keycloak(name: Name) {
  const roles = many(count, allOdd(name));
  const ofClient = (of: string[]) => of.map((role) => ({ name: role, description: name() }));
  const groups = many(count, allOdd(name));
  const aliases = many(count, allOdd(name));
  const clients = ofClients(many(count, allOdd(name))).map((clientId, index) => ({
    clientId,
    name: textOr(name, 'An application', index),
    secret: textOr(name, strong, index),
    publicClient: index % 5 === 1,
    rootUrl: textOr(name, 'https://app.example', index + 1),
    redirectUris: [callback, ...(index % 4 === 0 ? [name(), name()] : [])],
    attributes: {
      'post.logout.redirect.uris': textOr(name, '+', index),
      'backchannel.logout.url': textOr(name, 'https://app.example/out', index + 1),
      'access.token.lifespan': textOr(name, '300', index + 2),
      'jwks.string':
        index % 4 === 0 ? `{"keys":[{"kty":"RSA","__proto__":{"a":${'['.repeat(40)}${']'.repeat(40)}}}]}` : name(),
      'id.token.signed.response.alg': textOr(name, 'RS256', index + 1),
      logoUri: name(),
    },
    protocolMappers: [{ name: name(), protocolMapper: name() }],
    defaultClientScopes: ['profile', name()],
  }));
  return {
    realm: name() || 'realm',
    roles: {
      realm: ofClient(roles),
      client: Object.fromEntries([
        ['many', many(250, (index) => ({ name: `role ${index}` }))],
        ['app', ofClient(roles)],
        ...clients.slice(0, 50).map(({ clientId }) => [clientId, ofClient(many(3, name))]),
      ]),
    },
    groups: groups.map((group, index) => ({
      name: group,
      description: name(),
      clientRoles: { app: [roles[index % roles.length]] },
      subGroups: many(2, () => ({ name: name(), description: name(), realmRoles: [roles[index % roles.length]] })),
    })),
    clients: [
      { clientId: 'app', redirectUris: [callback], secret: strong },
      { clientId: 'many', redirectUris: [callback], secret: strong },
      ...clients,
    ],
    identityProviders: aliases.map((alias, index) => ({
      alias,
      displayName: name(),
      providerId: ['github', 'google', 'oidc'][index % 3],
      config: {
        clientId: textOr(name, 'id', index),
        clientSecret: name(),
        issuer: 'https://idp.example',
        defaultScope: name(),
      },
    })),
    users: many(count, allOdd(name)).map((username, index) => ({
      id: index % 4 === 0 ? name() : `id-${index % 40}`,
      username,
      email: index % 2 === 0 ? name() : `user${index % 30}@example.com`,
      emailVerified: true,
      firstName: name(),
      lastName: name(),
      attributes: { locale: [name()], [name()]: [name()], picture: [name()], birthdate: name() },
      groups: many(3, () => `/${groups[(index * 7) % groups.length]}`),
      realmRoles: [roles[index % roles.length], name()],
      clientRoles: {
        app: [roles[(index * 3) % roles.length], name()],
        many: ['role 3', 'role 249'],
        [name()]: [name()],
      },
      federatedIdentities: many(3, (at) => ({
        identityProvider: aliases[(index + at) % aliases.length],
        userId: at === 0 ? `same ${index % 10}` : name(),
      })),
      credentials: [hash, { ...keycloakCode('12345678901234567890'), userLabel: name() }],
    })),
  };
}

const authelia = (name: Name) => ({
  'configuration.yml': {
    access_control: { rules: [] },
    identity_providers: {
      oidc: {
        clients: ofClients(many(count, allOdd(name))).map((client_id, index) => ({
          client_id,
          client_name: name(),
          client_secret: `$plaintext$${textOr(name, strong, index)}`,
          redirect_uris: [callback, name()],
          scopes: ['openid', name()],
          ...(index % 7 === 0 && { grant_types: ['authorization_code', name()] }),
          authorization_policy: textOr(name, 'one_factor', index),
          id_token_signed_response_alg: textOr(name, 'RS256', index),
          jwks_uri: textOr(name, 'https://app.example/jwks', index),
        })),
      },
    },
  },
  'users.yml': {
    users: Object.fromEntries(
      // a file with this key is refused as a whole
      many(count, allOdd(name))
        .filter((username) => username !== '__proto__')
        .map((username) => [
          username,
          {
            password: name(),
            displayname: name(),
            email: name(),
            groups: many(3, name),
            given_name: name(),
            picture: name(),
            address: { locality: name(), country: name() },
            extra: { colour: name() },
          },
        ]),
    ),
  },
  'identifiers.yml': {
    identifiers: oddNames.map((username) => ({ service: 'openid', username, identifier: name() })),
  },
  'totp.yml': {
    totp_configurations: oddNames.map((username, index) => ({
      username,
      secret: Buffer.from(textOr(name, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP', index)).toString('base64'),
    })),
  },
});

const authentik = (name: Name) => ({
  'blueprint.yaml': {
    version: 1,
    entries: [
      ...many(count, allOdd(name)).map((group, index) => ({
        model: 'authentik_core.group',
        id: `group-${index}`,
        attrs: { pk: `g${index}`, name: group, parent: index % 2 === 0 ? { toString: name() } : `g${index - 1}` },
      })),
      ...ofClients(many(count, allOdd(name))).map((client_id, index) => ({
        model: 'authentik_providers_oauth2.oauth2provider',
        attrs: {
          name: name(),
          client_id,
          client_secret: textOr(name, strong, index),
          client_type: index % 5 === 1 ? 'public' : 'confidential',
          redirect_uris: [{ matching_mode: 'strict', url: callback }, { url: name() }],
          property_mappings: [name()],
          pk: index,
        },
      })),
      ...many(20, (index) => ({
        model: 'authentik_core.application',
        attrs: { name: name(), provider: index, meta_launch_url: name() },
      })),
      ...many(count, allOdd(name)).map((slug, index) => ({
        model: 'authentik_sources_oauth.oauthsource',
        attrs: {
          pk: `s${index}`,
          slug,
          name: name(),
          provider_type: ['google', 'github', 'openidconnect'][index % 3],
          consumer_key: textOr(name, 'key', index),
          consumer_secret: name(),
          oidc_well_known_url: 'https://idp.example/.well-known/openid-configuration',
        },
      })),
      ...many(count, (index) => ({
        model: 'authentik_sources_oauth.useroauthsourceconnection',
        attrs: { user: `u${index}`, source: `s${(index * 5) % count}`, identifier: index % 2 ? 'same' : name() },
      })),
      ...many(count, allOdd(name)).map((username, index) => ({
        model: 'authentik_core.user',
        identifiers: { username },
        attrs: {
          pk: `u${index}`,
          uuid: textOr(name, `21111111-2222-4333-8444-${String(index % 30).padStart(12, '0')}`, index),
          username,
          name: name(),
          email: name(),
          groups: [`g${index}`, name()],
          attributes: { [`x${name()}`]: name() },
          password: name(),
        },
      })),
    ],
  },
});

const linesOf = (rows: object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const auth0 = (name: Name) => ({
  'users.ndjson': linesOf(
    many(count, allOdd(name)).map((username, index) => ({
      user_id: index % 2 === 0 ? `auth0|${name()}` : name(),
      username,
      email: name(),
      email_verified: true,
      name: name(),
      nickname: name(),
      picture: name(),
      phone_number: name(),
      user_metadata: { [name()]: name() },
      identities: many(3, (at) => ({
        provider: ['google-oauth2', 'github', name()][at],
        connection: ['google-oauth2', name(), 'github'][at],
        user_id: index % 2 ? 'same' : name(),
      })),
    })),
  ),
  'passwords.ndjson': linesOf(many(count, () => ({ _id: { $oid: name() }, passwordHash: name() }))),
});

const pocketId = (name: Name) => ({
  'database.json': {
    tables: {
      user_groups: many(count, allOdd(name)).map((group, index) => ({
        id: `g${index}`,
        name: group,
        friendly_name: name(),
      })),
      user_groups_users: many(count, (index) => ({ user_id: `u${index}`, user_group_id: `g${index}` })),
      oidc_clients: ofClients(many(count, allOdd(name))).map((id, index) => ({
        id,
        name: name(),
        callback_urls: JSON.stringify([callback, name()]),
        logout_callback_urls: JSON.stringify([name()]),
        is_public: index % 3 === 0,
        launch_url: `https://${name()}`,
      })),
      oidc_clients_allowed_user_groups: ofClients(oddNames).flatMap((id, index) =>
        many(2, (at) => ({ oidc_client_id: id, user_group_id: `g${(index + at) % count}` })),
      ),
      users: many(count, allOdd(name)).map((username, index) => ({
        id: textOr(name, `u${index % 40}`, index),
        username,
        email: name(),
        email_verified: true,
        first_name: name(),
        last_name: name(),
        display_name: name(),
        locale: name(),
        is_admin: index % 9 === 0,
      })),
    },
  },
});

const products: readonly [string, (name: Name) => Record<string, unknown>, readonly string[]][] = [
  ['keycloak', (name) => ({ 'realm.json': keycloak(name) }), ['realm.json']],
  ['authelia', authelia, ['configuration.yml', 'users.yml', '--totp', 'totp.yml', '--identifiers', 'identifiers.yml']],
  ['authentik', authentik, ['blueprint.yaml']],
  ['auth0', auth0, ['users.ndjson', '--passwords', 'passwords.ndjson']],
  ['pocket-id', pocketId, ['.']],
];

/** What a plan or an import refuses. */
async function refusals(moved: MovedIn): Promise<unknown> {
  const service = await startTestService();
  try {
    const { applied, imported } = await moveIn(service, moved.output, '--with-admins');
    const again = await runCommand(service, ['config', 'plan', moved.output]);
    return {
      applied: [applied.code, applied.stderr],
      imported: [imported.code, imported.stderr.replaceAll(/^line \d+: username is an address.*\n/gm, '')],
      again: [again.code, again.code === 0 ? '' : again.stdout + again.stderr],
    };
  } finally {
    await service.stop();
  }
}

test.each(products)(
  'what the importer of %s writes is applied and imported, whatever names its export has (federation F103)',
  async (product, made, words) => {
    for (let round = 0; round < rounds; round++) {
      const file = await imports.exported(escaped(made(namesOf(seed + round * 1000))));
      const given = words.map((word) => (word.startsWith('--') ? word : file(word)));
      const moved = await imports.moved(product, ...given, '--keep-subs', '--with-admins');
      expect([moved.code, moved.stderr], `FUZZ_SEED=${seed} round ${round}`).toEqual([0, '']);
      expect(await refusals(moved), `FUZZ_SEED=${seed} round ${round}`).toEqual({
        applied: [0, ''],
        imported: [0, ''],
        again: [0, ''],
      });
      expect(moved.users.length).toBeGreaterThan(20);
    }
  },
);
