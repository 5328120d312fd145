// Makes the service's password hashes cost almost nothing, to measure the rest of a sign-in. Node loads it before the service (--import),
// which then never starts.
import { buildApp } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { openServiceDatabase } from '../src/database/service-database.ts';
import { statement } from '../src/database/database.ts';
import { letPoolThreadsGiveWay } from '../src/crypto/thread-priority.ts';
import { createLogger } from '../src/start/service.ts';

const config = loadConfig();
const logger = createLogger(config);
const { database, secretKeys } = await openServiceDatabase(config, logger);
// the least that Argon2 can be asked for
const passwordWork = { memoryCost: 8, timeCost: 1 };
// it counts as the service beside which it runs: one of its own, with another address, would keep later services from the database
const running = await database.query<{ id: string }>(statement('bench.instance', 'SELECT id FROM instances LIMIT 1'));
const app = await buildApp({ config, database, secretKeys, logger, passwordWork, instanceId: running[0]?.id });
await app.listen({ port: config.port, host: config.host });
letPoolThreadsGiveWay();
process.on('SIGTERM', () => process.exit(0));
process.stdout.write('Gatehouse is ready\n');
await new Promise(() => undefined);
