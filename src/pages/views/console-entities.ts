// Declares the console's pages that are the same for every entity: its list, its form, and its deletion.
import type { ConsoleFrame } from './console.ts';
import type { RuleListView } from './console-rules.ts';
import type { FieldView, FormView, RefusedView } from './parts.ts';

/** What these pages are about: the words of the pages are below `console.NOUNS.`, those of the members below `console.NOUN.`. */
interface OfEntity extends ConsoleFrame {
  nouns: string;
  noun: string;
  listUri: string;
}

/** A value of a row: a text, a text by language, a time, or properties, which are keys of the catalogue or texts. */
export interface Cell {
  member: string;
  text?: string;
  texts?: Record<string, string>;
  tags?: string[];
  at?: Date;
  ltr?: boolean;
}

export interface ConsoleEntitiesPages {
  'console-entities': OfEntity & {
    /** The first cell of a row leads to its page. */
    rows: { uri: string; cells: Cell[]; usedAt?: Date }[];
    /** Whether the list says when each was last used. */
    showsUse?: boolean;
    /** Whether the list is sorted by the first cell; otherwise the newest is the first. */
    byKey: boolean;
    newUri: string;
    /** Other lists beside this one, by the plural of their nouns. */
    related: { nouns: string; uri: string }[];
    first?: string;
    next?: string;
  };
  'console-entity-form': OfEntity & {
    /** What is changed; undefined for a new one. */
    of?: { name: string; uri: string };
    fields: FieldView[];
    form: FormView;
    deleteUri?: string;
    /** Its lists of rules, if it has any and no page of its own. */
    rules?: RuleListView[];
    refused?: RefusedView;
  };
  /** Asks for the name in `typed`. */
  'console-entity-delete': OfEntity & {
    name: string;
    /** Another text by which it is known, such as its address. */
    known?: string;
    uri: string;
    form: FormView;
    typed?: string;
    problem?: 'typed';
    refused?: RefusedView;
  };
  /** Asks for the name in `typed`. */
  'console-take-over': ConsoleFrame & {
    name: string;
    /** The set of files that keeps it. */
    files: string;
    /** The page from which the administrator comes. */
    uri: string;
    form: FormView;
    typed?: string;
    problem?: 'typed';
  };
}
