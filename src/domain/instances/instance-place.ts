// Says where this instance runs, and with which settings, for administrators who look at several.
import { hostname } from 'node:os';
import { type Config, storedForCommands } from '../../config.ts';
import { installedVersion } from '../../config/version.ts';
import type { InstancePlace } from '../../repositories/instances/instances.ts';

export const placeOf = (config: Config): InstancePlace => ({
  host: hostname(),
  port: config.port,
  version: installedVersion(),
  settings: storedForCommands(config),
});
