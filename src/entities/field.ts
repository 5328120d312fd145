// Defines the fields of forms: how a form asks for a value, how the value is written as text, and how the typed text is read.
import type { z } from 'zod';

export type FieldKind =
  | 'text'
  | 'address'
  | 'email'
  | 'number'
  | 'time'
  | 'secret'
  | 'lines'
  | 'json'
  | 'check'
  | 'radio'
  | 'select'
  | 'boxes';

/** How a value is written as text if not as the kind of its field says. Text that is no such value is left to the rule of the value. */
export interface Typing {
  write(value: never): string;
  read(text: string): unknown;
}

export interface Field {
  kind: FieldKind;
  /** The values to choose from; in the declaration of an entity by default those of the rule. */
  choices?: readonly string[];
  typing?: Typing;
  required?: boolean;
  /** Characters that can be typed. */
  most?: number;
  /** Lines that a field with several shows. */
  lines?: number;
  /** The noun that a text, or each line, names: the page offers what exists as it is typed. */
  picks?: string | undefined;
  /** The id of the list in the page that a text field offers. */
  list?: string;
  /** The writing direction: that of the text itself, or from left to right. */
  writing?: 'auto' | 'ltr';
}

/** A member of a form: where its value is in the input of an operation, and how it is asked for. */
export interface FormMember extends Field {
  name: string;
  /** The member of the input that has it, such as `settings`. */
  inside?: string;
  /** An empty field removes the value (null); otherwise it is the empty text, or no entry. */
  removable?: boolean;
  /** Whether the page only shows the value. */
  fixed?: boolean;
  /** The group of the form; those of `more` are folded. */
  group?: string | undefined;
}

/** A sentence of the catalogue, by the end of its key, and what it names: a text, a count, or several texts in a list. */
export interface Said {
  key: string;
  values: Readonly<Record<string, string | number | readonly string[]>>;
}

/** A rule of a list as one line: its sentence, what else the rule does, each as a phrase of its own, and keys of its tags. */
export interface RuleLine extends Said {
  notes?: readonly Said[];
  tags?: readonly string[];
}

/** A field of a rule of a list, with the rule of its value. One that is `rare` is asked for only where it has a value. */
export interface RuleField extends FormMember {
  rule: z.ZodType;
  words?: string;
  rare?: true;
}

/** One kind of the rules of a list. Its functions are pure; the names of its fields are those of the members of a rule. */
export interface RuleKind {
  name: string;
  fields: readonly RuleField[];
  /** Whether one offers it. @param one its members as the API shows them */
  when?(one: Readonly<Record<string, unknown>>): boolean;
  is(rule: never): boolean;
  /** The values of the fields, if they are not the members of the rule. */
  read?(rule: never): Readonly<Record<string, unknown>>;
  /** The rule, if it is not what the fields have. */
  make?(values: Readonly<Record<string, unknown>>): unknown;
  says(rule: never): RuleLine;
}

/** A member that is a list of rules: the console shows each as a line, and asks for one by the fields of its kind. */
export interface RuleList {
  kinds: readonly RuleKind[];
  /** The values that the form of a new rule has. */
  starts?: Readonly<Record<string, unknown>>;
  /** Whether the order of the rules matters. */
  ordered?: true;
  /** The field for what is refused, by its code, or by the member of a rule that has no field of its own. */
  standIn?: Readonly<Record<string, string>>;
}

const entriesOf = (text: string, separator: RegExp) =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter(Boolean);

/** Entries on a line each. */
export const lines: Typing = {
  write: (entries: readonly string[]) => entries.join('\n'),
  read: (text) => entriesOf(text, /\r?\n/),
};

/** Entries between spaces. */
export const words: Typing = {
  write: (entries: readonly string[]) => entries.join(' '),
  read: (text) => entriesOf(text, /\s+/),
};

/** A text in several languages: a line alone is English, [de] before it names another language. */
export const textByLanguage: Typing = {
  write: (texts: Readonly<Record<string, string>>) =>
    Object.entries(texts)
      .map(([language, text]) => (language === 'en' ? text : `[${language}] ${text}`))
      .join('\n'),
  read: (text) =>
    Object.fromEntries(
      entriesOf(text, /\r?\n/).flatMap((line) => {
        const [, language = 'en', said = ''] = /^(?:\[([^\]]*)\]\s*)?(.*)$/.exec(line) ?? [];
        return said === '' ? [] : [[language, said]];
      }),
    ),
};

const plain: Typing = { write: String, read: (text) => text.trim() };

/** A text of several lines, which browsers end with CR LF. */
export const paragraph: Typing = { write: String, read: (text) => text.replace(/\r\n?/g, '\n').trim() };

/** How the fields of each kind are typed. */
const typings: Record<FieldKind, Typing> = {
  text: plain,
  address: plain,
  email: plain,
  time: plain,
  radio: plain,
  select: plain,
  lines,
  boxes: lines,
  secret: { write: () => '', read: (text) => text },
  number: {
    write: String,
    read: (text) => (/^-?\d{1,15}$/.test(text.trim()) ? Number(text) : text),
  },
  json: {
    write: (value: unknown) => JSON.stringify(value, null, 2),
    read(text) {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    },
  },
  check: { write: String, read: (text) => text === 'true' },
};

/** The value as a form has it. */
export function written(field: Field, value: unknown): string {
  if (value === undefined || value === null) return '';
  return (field.typing ?? typings[field.kind]).write(value as never);
}

/** The value that was typed; undefined for one that stays as it is. */
export function read(field: Pick<FormMember, keyof Field | 'removable'>, text: string | undefined): unknown {
  const { kind, removable, typing = typings[kind] } = field;
  // a browser sends a chosen value in any case, and a form never has a stored secret
  if (text === undefined && (kind === 'radio' || kind === 'select')) return undefined;
  const typed = text ?? '';
  if (kind === 'secret' && typed === '') return undefined;
  return typed.trim() === '' && removable ? null : typing.read(typed);
}
