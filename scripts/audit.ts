// Asks the registry whether any installed package has a known advisory. Usage: npm run audit, with the options of npm audit, such as -- --omit=dev
// Exits with 0 only if the registry answered and knows none, with 1 for an advisory, and with 2 if the registry did not answer.
import { spawnSync } from 'node:child_process';

interface Report {
  metadata?: { vulnerabilities: Record<string, number>; dependencies: { total: number } };
  vulnerabilities?: Record<string, { severity: string; range: string }>;
  message?: string;
  error?: { summary?: string };
}

/** The result of npm's output; output that cannot be parsed never counts as clean. */
export function verdict(answer: string): { code: 0 | 1 | 2; text: string } {
  let report: Report;
  try {
    report = JSON.parse(answer) as Report;
  } catch {
    report = {};
  }
  if (!report.metadata || !report.vulnerabilities) {
    const why = report.error?.summary || report.message || 'npm audit gave no report';
    return {
      code: 2,
      text: `NOT CHECKED: the registry could not be asked for advisories (${why.split(/ - |\n/)[0]}).`,
    };
  }
  const found = Object.entries(report.vulnerabilities);
  return found.length === 0
    ? { code: 0, text: `No advisory is known for the ${report.metadata.dependencies.total} packages of the lock file.` }
    : { code: 1, text: found.map(([name, { severity, range }]) => `${severity}: ${name} ${range}`).join('\n') };
}

if (import.meta.main) {
  const { stdout, error } = spawnSync('npm', ['audit', '--json', ...process.argv.slice(2)], { encoding: 'utf8' });
  const { code, text } = verdict(error ? '' : stdout);
  process[code === 0 ? 'stdout' : 'stderr'].write(`${text}\n`);
  process.exitCode = code;
}
