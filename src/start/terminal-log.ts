// Writes the log as text for an operator who reads it on a terminal.
import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';
import { harmless } from '../admin/operations/text-table.ts';

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

export function openTerminalLog(): DestinationStream {
  // the service runs on when the terminal is closed
  process.stderr.on('error', () => undefined);
  return { write: (line) => void process.stderr.write(readable(line)) };
}

/**
 * @param line JSON, as pino writes it
 * @returns time, level, message and the other members, with the stack of a serious error below; without characters from requests that
 * could move the cursor (security R126)
 */
function readable(line: string): string {
  const { level, time, msg = '', err, ...members } = JSON.parse(line) as Line;
  const [name, style] = levels[level] ?? [String(level), 'dim'];
  const clock = new Date(time).toTimeString().slice(0, 8);
  const message = err?.message === undefined || err.message === msg ? msg : `${msg}: ${err.message}`;
  const details = Object.entries(members).map(([key, value]) => ` ${key}=${shown(value)}`);
  const stack = level < withStack ? [] : (err?.stack ?? '').split('\n').filter((each) => /^\s+at /.test(each));
  const first = `${styled('dim', clock)} ${styled(style, name.padEnd(5))} ${harmless(message)}`;
  return [first + styled('dim', harmless(details.join(''))), ...stack.map(harmless), ''].join('\n');
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value);
}

/** Adds colour if the terminal supports it and NO_COLOR is not set. */
function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stderr });
}
