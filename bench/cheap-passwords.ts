// The service as it is, but for password hashes that cost next to nothing: what a sign-in costs besides them.
import { buildApp } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { openConnection } from '../src/database/connection.ts';
import { letPoolThreadsGiveWay } from '../src/crypto/thread-priority.ts';
import { createLogger } from '../src/start/service.ts';

const config = loadConfig();
const logger = createLogger(config);
const { database, secretKey } = await openConnection(config, logger);
// the least that Argon2 can be asked for
const passwordWork = { memoryCost: 8, timeCost: 1 };
const app = await buildApp({ config, database, secretKey, logger, passwordWork });
await app.listen({ port: config.port, host: config.host });
letPoolThreadsGiveWay();
process.on('SIGTERM', () => process.exit(0));
process.stdout.write('Gatehouse is ready\n');
