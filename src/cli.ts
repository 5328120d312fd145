// Runs one administrator's command in this process, whether the service runs or not.
import { format } from 'node:util';
import { outputClosedCode } from './command-line/command.ts';
import { complaint, runCommandLine } from './command-line/command-line.ts';

const { stdin, stdout, stderr } = process;
const outputClosed = new AbortController();
for (const output of [stdout, stderr])
  output.on('error', (error: NodeJS.ErrnoException) => {
    // a reader such as `head` may close the output early: the command completes its work and prints no error
    if (error.code !== 'EPIPE') fail(error);
    process.exitCode = outputClosedCode;
    outputClosed.abort();
  });
// a warning, or what a package prints, becomes one clear line (security R126)
process.removeAllListeners('warning');
process.on('warning', ({ message }) => stderr.write(`Warning: ${message.replace(/\s+/g, ' ')}\n`));
process.on('uncaughtException', fail);
for (const method of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'trace'] as const)
  console[method] = (...printed: unknown[]) => void stderr.write(`${format(...printed).replace(/\s+/g, ' ')}\n`);

function fail(error: unknown): never {
  stderr.write(`${complaint(error)}\n`);
  process.exit(1);
}

const code = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr, gone: outputClosed.signal });
process.exitCode = outputClosed.signal.aborted ? outputClosedCode : code;
