// The process: settings, database, application, listening, and a graceful end.
import { startService } from './service.ts';
import { ConfigError, loadConfig } from './config.ts';
import { EmbeddedPostgresError } from './database/embedded.ts';
import { MigrationError } from './database/migrations.ts';

try {
  const service = await startService(loadConfig());
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    service.logger.info({ signal }, 'stopping: requests under way are answered first');
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        service.logger.fatal({ err: error }, 'the service did not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.stdout.write(service.greeting);
} catch (error) {
  process.stderr.write(`${startError(error)}\n`);
  process.exit(1);
}

function startError(error: unknown): string {
  if (error instanceof ConfigError || error instanceof EmbeddedPostgresError || error instanceof MigrationError)
    return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return `The port is taken by another program: set PORT to a free one. (${message})`;
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === '28P01' || code === '3D000') {
    return `The database of DATABASE_URL cannot be used: ${message}.`;
  }
  return error instanceof Error && error.stack ? error.stack : String(error);
}
