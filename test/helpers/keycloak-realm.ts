// Makes the export of a realm of Keycloak: members and nesting as `kc.sh export` writes them (RealmRepresentation of Keycloak 26), and password
// hashes that Python computes.
import { linesOfPython } from './python.ts';

interface Hash {
  digest: 'sha1' | 'sha256' | 'sha512';
  password: string;
  iterations: number;
  bytes: number;
}

const salt = Buffer.from('a salt of python');
const script = `
import base64, hashlib, json, sys
for one in json.load(sys.stdin):
    key = hashlib.pbkdf2_hmac(one["digest"], one["password"].encode(), ${JSON.stringify(String(salt))}.encode(), one["iterations"], one["bytes"])
    print(base64.b64encode(key).decode())
`;

/** The values of PBKDF2, by the hashlib of Python. */
const hashesByPython = (hashes: Hash[]): string[] => linesOfPython(script, hashes);

export const passwordOf = (index: number): string => `the old password of user ${index}`;
const algorithms = { sha1: 'pbkdf2', sha256: 'pbkdf2-sha256', sha512: 'pbkdf2-sha512' };
const digests = ['sha512', 'sha256', 'sha1'] as const;

export interface RealmUser {
  id: string;
  username: string;
  [member: string]: unknown;
}

export const keycloakHash = (algorithm: string, hashIterations: number, value: string) => ({
  id: '0b21e5b4-8e5f-4a7e-9b30-8b6a3c9f4d11',
  type: 'password',
  createdDate: 1754906400000,
  secretData: JSON.stringify({ value, salt: salt.toString('base64'), additionalParameters: {} }),
  credentialData: JSON.stringify({ hashIterations, algorithm, additionalParameters: {} }),
});

export const keycloakCode = (secret: string, members: object = {}) => ({
  id: 'f6b6b1a2-2f5c-4f4e-8d55-6f0b1b4d9a10',
  type: 'otp',
  userLabel: 'Phone',
  createdDate: 1754906400000,
  secretData: JSON.stringify({ value: secret }),
  credentialData: JSON.stringify({
    subType: 'totp',
    digits: 6,
    counter: 0,
    period: 30,
    algorithm: 'HmacSHA1',
    ...members,
  }),
});

const idOf = (group: number, index: number) => `00000000-0000-400${group}-8000-${String(index).padStart(12, '0')}`;

/** Users with the three digests in turn; Keycloak derives 64 bytes with each. */
function usersOf(count: number): RealmUser[] {
  const hashes = Array.from({ length: count }, (_, index): Hash => {
    return { digest: digests[index % 3]!, password: passwordOf(index), iterations: 1000 + index, bytes: 64 };
  });
  return hashesByPython(hashes).map((value, index) => ({
    id: idOf(1, index),
    username: `user${index}`,
    email: `user${index}@example.com`,
    emailVerified: index % 2 === 0,
    enabled: true,
    createdTimestamp: 1754906400000,
    totp: false,
    firstName: 'User',
    lastName: `Number ${index}`,
    credentials: [keycloakHash(algorithms[hashes[index]!.digest], hashes[index]!.iterations, value)],
    disableableCredentialTypes: [],
    requiredActions: [],
    realmRoles: ['default-roles-staff'],
    notBefore: 0,
    groups: [index % 2 === 0 ? '/it/operations' : '/sales'],
    ...(index % 10 === 0 && {
      federatedIdentities: [{ identityProvider: 'GitHub', userId: String(index), userName: 'x' }],
    }),
  }));
}

const clientsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: idOf(2, index),
    clientId: `app-${index}`,
    name: `Application ${index}`,
    rootUrl: `https://app-${index}.example`,
    enabled: true,
    clientAuthenticatorType: 'client-secret',
    secret: `${String(index).padStart(2, '0')}aB3dE5gH7jK9mN1pQ3sT5vX7zA2cD4f`,
    redirectUris: ['/callback'],
    webOrigins: ['+'],
    standardFlowEnabled: true,
    implicitFlowEnabled: false,
    directAccessGrantsEnabled: false,
    serviceAccountsEnabled: false,
    publicClient: false,
    protocol: 'openid-connect',
    attributes: { 'post.logout.redirect.uris': '+', ...(index > 0 && { 'pkce.code.challenge.method': 'S256' }) },
    fullScopeAllowed: true,
    defaultClientScopes: ['web-origins', 'acr', 'profile', 'roles', 'basic', 'email'],
    optionalClientScopes: ['address', 'phone', 'offline_access', 'microprofile-jwt'],
  }));

/** The clients that Keycloak makes in each realm. */
const ownClients = [
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
].map((clientId) => ({ clientId, redirectUris: ['/realms/staff/*'], protocol: 'openid-connect' }));

/** A realm with so many users `user0` … and confidential clients `app-0` …; every user has the role viewer of app-0. */
export function keycloakRealm(counts: { users: number; clients: number }) {
  return {
    id: idOf(0, 0),
    realm: 'staff',
    enabled: true,
    sslRequired: 'external',
    roles: {
      realm: [
        { id: idOf(3, 0), name: 'offline_access', composite: false, clientRole: false, containerId: idOf(0, 0) },
        {
          id: idOf(3, 1),
          name: 'default-roles-staff',
          composite: true,
          composites: { realm: ['offline_access', 'employee'], client: { account: ['view-profile'] } },
        },
        { id: idOf(3, 2), name: 'employee', composite: true, composites: { client: { 'app-0': ['viewer'] } } },
      ],
      client: {
        'app-0': [
          { id: idOf(3, 3), name: 'viewer', description: 'May look', composite: false, clientRole: true },
          { id: idOf(3, 4), name: 'editor', composite: true, composites: { client: { 'app-0': ['viewer'] } } },
        ],
        'realm-management': [{ id: idOf(3, 5), name: 'realm-admin', clientRole: true }],
      },
    },
    groups: [
      {
        id: idOf(4, 0),
        name: 'it',
        path: '/it',
        subGroups: [
          {
            id: idOf(4, 1),
            name: 'operations',
            path: '/it/operations',
            clientRoles: { 'app-0': ['editor'] },
            subGroups: [],
          },
        ],
      },
      { id: idOf(4, 2), name: 'sales', path: '/sales', subGroups: [] },
    ],
    users: usersOf(counts.users) as Record<string, unknown>[],
    clients: [...ownClients, ...clientsOf(counts.clients)] as Record<string, unknown>[],
    identityProviders: [
      { alias: 'GitHub', providerId: 'github', enabled: true, config: { clientId: 'x', clientSecret: '**********' } },
    ] as Record<string, unknown>[],
  };
}
