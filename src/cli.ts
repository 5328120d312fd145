// The administrator's command line: users, clients, keys and the audit trail, on the database of the settings, running service or not.
import { runCommandLine } from './commands/command-line.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), process);
