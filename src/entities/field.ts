// Defines the fields of forms: how a form asks for a value, how the value is written as text, and how the typed text is read.
export type FieldKind =
  'text' | 'address' | 'email' | 'number' | 'secret' | 'lines' | 'json' | 'check' | 'radio' | 'select' | 'boxes';

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
  /** The noun of which it names one: the page offers what exists. */
  refers?: string | undefined;
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
