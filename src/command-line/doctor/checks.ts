// Lists the checks of `gatehouse doctor`, in the order in which it prints them.
import type { Check } from './check.ts';
import { clock, database, maxConnections, rights, schema } from './database.ts';
import { headers, issuer, proxy, tls } from './issuer.ts';
import { disk, instances, secretKey } from './machine.ts';
import { mail, sender } from './mail.ts';
import { settings } from './settings.ts';
import { backups, jobs, providers, weakened } from './work.ts';

/** One line for each check. */
export const checks: readonly Check[] = [
  settings,
  instances,
  issuer,
  proxy,
  tls,
  headers,
  database,
  rights,
  maxConnections,
  schema,
  clock,
  disk,
  secretKey,
  mail,
  sender,
  providers,
  jobs,
  backups,
  weakened,
];
