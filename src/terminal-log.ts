// Formats a line of the log for people who read it on a terminal.
import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

const levels: Record<number, [string, Style]> = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', ['bold', 'red']],
};
const withStack = 50; // level

interface Line {
  level: number;
  time: number;
  msg?: string;
  err?: { message?: string; stack?: string };
}

/**
 * @param line JSON, as pino writes it
 * @returns time, level, message and the other members, with the stack of a serious error below
 */
export function terminalLine(line: string): string {
  const { level, time, msg = '', err, ...members } = JSON.parse(line) as Line;
  const [name, style] = levels[level] ?? [String(level), 'dim'];
  const clock = new Date(time).toTimeString().slice(0, 8);
  const message = err?.message === undefined ? msg : `${msg}: ${err.message}`;
  const details = Object.entries(members).map(([key, value]) => ` ${key}=${shown(value)}`);
  const stack = level < withStack ? [] : (err?.stack ?? '').split('\n').filter((each) => /^\s+at /.test(each));
  const first = `${styled('dim', clock)} ${styled(style, name.padEnd(5))} ${printable(message)}`;
  return [first + styled('dim', printable(details.join(''))), ...stack.map(printable), ''].join('\n');
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

/** Without characters that move the cursor, change its colours or turn the text around: a request may have put them there. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

/** In colour where the terminal shows it, and NO_COLOR is not set. */
function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stderr });
}
