// Declares what pages of the console show of a list of rules, and the page that asks for one rule.
import type { RuleLine } from '../../entities/field.ts';
import type { ConsoleFrame } from './console.ts';
import type { FieldView, FormView, RefusedView } from './parts.ts';

/** A rule as a line; `uri` is the address of its form. Untrusted text. */
export interface RuleLineView extends RuleLine {
  id: string;
  uri: string;
}

/** A page above another one: by a name, or by words of the catalogue. */
export type TrailLink = { uri: string } & ({ name: string } | { words: string });

/** A list of rules on the page of the one that has it. */
export interface RuleListView {
  /** The member that has the rules: its words are `WORDS.MEMBER`, and those that are missing `GENERAL.MEMBER`. */
  member: string;
  words: string;
  general: string;
  lines: RuleLineView[];
  newUri: string;
  /** Posts `remove` or `up` with the id of a rule. */
  form: FormView;
  ordered: boolean;
}

/** The form of a rule of one kind, which has the `fields`. */
interface RuleFormView {
  kind: string;
  fields: FieldView[];
  form: FormView;
}

export interface ConsoleRulesPages {
  /** Adds or changes a rule. */
  'console-rule': ConsoleFrame & {
    /** As for the list. */
    member: string;
    words: string;
    general: string;
    /** The one that has the rules, with the page that lists them, and the pages above. */
    of: { name: string; uri: string };
    trail: TrailLink[];
    isNew: boolean;
    /** The kinds that can be chosen: each with its own form, if the page has a script. */
    kinds: RuleFormView[];
    /** The kind that is chosen. */
    chosen?: string;
    /** The address that gets `kind`. */
    kindsUri: string;
    /** Whether the rule that was changed is another one now, or none. */
    gone?: true;
    refused?: RefusedView;
  };
}
