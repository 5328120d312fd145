// Writes a plan for people: a line for each change, with the old and the new values and with what ends.
import { harmless } from '../text-table.ts';
import { fileNouns } from './nouns.ts';
import type { PlannedChange } from './plan.ts';

const signs = { create: '+', change: '~', delete: '-', keep: '>' } as const;
const acts = { create: 'create', change: 'change', delete: 'delete', keep: 'take over' } as const;
const maxValue = 300;

const valueText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) as string | undefined);
  if (text === undefined || text === '') return '(empty)';
  return text.length > maxValue ? `${text.slice(0, maxValue)}…` : text;
};

function linesOf({ section, key, act, members, from, effects }: PlannedChange): string[] {
  const noun = fileNouns().find((one) => one.section === section)?.of.one ?? section;
  const taken = from === undefined ? '' : from === null ? ', taken over' : `, taken over from ${from}`;
  const own = Object.entries(members).map(([name, { old, new: next }]) =>
    act === 'create'
      ? `    ${name}: ${valueText(next)}`
      : `    ${name}: ${old === undefined ? '(none)' : valueText(old)} → ${next === undefined ? '(none)' : valueText(next)}`,
  );
  const ends = Object.entries(effects ?? {}).map(
    ([name, count]) => `    ends or affects: ${name.replaceAll('_', ' ')} ${count}`,
  );
  return [`${signs[act]} ${acts[act]} ${noun} ${key}${taken}`, ...own, ...ends];
}

export function planText(changes: readonly PlannedChange[], notes: readonly string[]): string {
  const counted = (act: PlannedChange['act']) => changes.filter((one) => one.act === act).length;
  const total =
    changes.length === 0
      ? 'Nothing to do.'
      : `${counted('create')} to create, ${counted('change')} to change, ${counted('delete')} to delete, ${counted('keep')} to take over.`;
  return [...changes.flatMap(linesOf), ...notes.map((note) => `! ${note}`), total].map(harmless).join('\n');
}
