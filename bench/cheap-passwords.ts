// The service as it is, but for password hashes that cost next to nothing: what a sign-in costs besides them.
import pino from 'pino';
import { buildApp } from '../src/app.ts';
import { loadConfig } from '../src/config.ts';
import { openConnection } from '../src/connection.ts';

const config = loadConfig();
const logger = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: false }));
const { database, secretKey } = await openConnection(config, logger);
// the least that Argon2 can be asked for
const passwordWork = { memoryCost: 8, timeCost: 1 };
const app = await buildApp({ config, database, secretKey, logger, passwordWork });
await app.listen({ port: config.port, host: config.host });
process.on('SIGTERM', () => process.exit(0));
process.stdout.write('Gatehouse is ready\n');
