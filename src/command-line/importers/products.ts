// Lists the products from which users and configuration are moved in: one line each in the list, and a file beside this one.
import type { Product } from './product.ts';

const keycloak: Product = {
  name: 'keycloak',
  title: 'Keycloak',
  files: ['FILE'],
  summary:
    'Reads the export of a realm of Keycloak, a file or a folder of kc.sh export, and writes the files with which users, clients and connections move in',
  load: () => import('./keycloak.ts'),
};

export const products: readonly Product[] = [keycloak];
