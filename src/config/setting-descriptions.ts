// Reads the descriptions of the settings from .env.example, for the console and for docs/reference.md.
import { readFileSync } from 'node:fs';

export interface SettingDescription {
  name: string;
  /** Its default as a setting has it; empty if there is none. */
  fallback: string;
  meaning: string;
}

export interface SettingGroup {
  title: string;
  settings: SettingDescription[];
}

/** The groups of .env.example in its order. */
export function settingGroups(): SettingGroup[] {
  const groups: SettingGroup[] = [];
  let comment: string[] = [];
  for (const line of readFileSync(new URL('../../.env.example', import.meta.url), 'utf8').split('\n')) {
    const title = /^# --- (.*)$/.exec(line)?.[1];
    const [, name, fallback] = /^# ([A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
    if (title !== undefined) groups.push({ title, settings: [] });
    else if (name !== undefined)
      groups.at(-1)!.settings.push({ name, fallback: fallback!, meaning: comment.join(' ') });
    else if (line !== '') {
      comment.push(line.slice(2));
      continue;
    }
    comment = [];
  }
  return groups;
}
