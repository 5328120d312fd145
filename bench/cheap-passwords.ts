// Makes the service's password hashes cost almost nothing, to measure the rest of a sign-in. Node loads it before the service (--import),
// which then never starts.
import { buildApp } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { openServiceDatabase } from '../src/database/service-database.ts';
import { letPoolThreadsGiveWay } from '../src/crypto/thread-priority.ts';
import { createLogger } from '../src/start/service.ts';

const config = loadConfig();
const logger = createLogger(config);
const { database, secretKeys } = await openServiceDatabase(config, logger);
// the least that Argon2 can be asked for
const passwordWork = { memoryCost: 8, timeCost: 1 };
const app = await buildApp({ config, database, secretKeys, logger, passwordWork });
await app.listen({ port: config.port, host: config.host });
letPoolThreadsGiveWay();
process.on('SIGTERM', () => process.exit(0));
process.stdout.write('Gatehouse is ready\n');
await new Promise(() => undefined);
