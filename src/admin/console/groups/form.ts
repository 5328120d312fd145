// Declares the form of a group.
import { type FormMember, lines, words } from '../../../entities/field.ts';

/** @param guarded whether only administrators change its members: then it has connections that may do so, too */
export const groupForm = (guarded: boolean): FormMember[] => [
  { name: 'name', kind: 'text', required: true, most: 255, writing: 'auto' },
  { name: 'description', kind: 'text', most: 1000, writing: 'auto' },
  ...(guarded
    ? [{ name: 'guarded_sources', kind: 'lines', writing: 'ltr', typing: { ...words, write: lines.write } } as const]
    : []),
];
