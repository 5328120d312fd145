// The administrator's command line: users, clients, keys and the audit trail, on the database of the settings, running service or not.
import { format } from 'node:util';
import { outputClosedCode } from './command-line/command.ts';
import { complaint, runCommandLine } from './command-line/command-line.ts';

const { stdin, stdout, stderr } = process;
const gone = new AbortController();
for (const output of [stdout, stderr])
  output.on('error', (error: NodeJS.ErrnoException) => {
    // `head` and others go before the end, which is no error: the command ends its work without a word
    if (error.code !== 'EPIPE') fail(error);
    process.exitCode = outputClosedCode;
    gone.abort();
  });
// nothing prints but in one clear line (security R126)
process.removeAllListeners('warning');
process.on('warning', ({ message }) => stderr.write(`Warning: ${message.replace(/\s+/g, ' ')}\n`));
process.on('uncaughtException', fail);
for (const method of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'trace'] as const)
  console[method] = (...printed: unknown[]) => void stderr.write(`${format(...printed).replace(/\s+/g, ' ')}\n`);

function fail(error: unknown): never {
  stderr.write(`${complaint(error)}\n`);
  process.exit(1);
}

const code = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr, gone: gone.signal });
process.exitCode = gone.signal.aborted ? outputClosedCode : code;
