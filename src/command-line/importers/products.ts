// Lists the products from which users and configuration are moved in: one value each, and a file beside this one.
import type { Product } from './product.ts';

const writes = 'and writes the files for the import of users, clients and connections';

export const products: readonly Product[] = [
  {
    name: 'keycloak',
    title: 'Keycloak',
    files: ['FILE'],
    summary: `Reads the export of a realm of Keycloak, a file or a folder of kc.sh export, ${writes}`,
    load: () => import('./keycloak.ts'),
  },
  {
    name: 'auth0',
    title: 'Auth0',
    files: ['FILE'],
    options: { passwords: 'The file of password hashes that the support of Auth0 sends.' },
    summary: `Reads the export of users of Auth0, as lines of JSON, ${writes}`,
    load: () => import('./auth0.ts'),
  },
  {
    name: 'authelia',
    title: 'Authelia',
    files: ['CONFIGURATION', 'USERS'],
    options: {
      totp: 'The secrets of authenticator apps, of authelia storage user totp export.',
      identifiers: 'The ids of users, of authelia storage user identifiers export, for --keep-subs.',
    },
    summary: `Reads the configuration and the users file of Authelia, ${writes}`,
    load: () => import('./authelia.ts'),
  },
  {
    name: 'authentik',
    title: 'authentik',
    files: ['FILE'],
    summary: `Reads a blueprint that authentik exported, ${writes}`,
    load: () => import('./authentik.ts'),
  },
  {
    name: 'pocket-id',
    title: 'Pocket ID',
    files: ['DIR'],
    summary: `Reads the unpacked export of Pocket ID, ${writes}`,
    load: () => import('./pocket-id.ts'),
  },
];
