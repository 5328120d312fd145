// Declares what the console's pages about definitions show: attributes of users, and whatever else an operator names and describes.
import type { AttributeFault } from '../../rules/claims/attributes.ts';
import type { ConsoleFrame } from './console.ts';
import type { FormView, RefusedView } from './parts.ts';

/** The kinds of definitions: keys of the catalogue under `console.definitions.`. */
export type DefinitionKind = 'attributes' | 'scopes';

/** A field of the form: `console.definitions.field.NAME`, with a hint `console.definitions.hint.NAME`. */
export interface DefinitionField {
  name: string;
  /** The end of these keys, if it is not the name. */
  words?: string;
  /** `lines` is a text with an entry on each line. */
  kind: 'text' | 'lines' | 'choice' | 'check';
  value: string;
  /** Keys of the catalogue under `console.definitions.choice.`. */
  choices?: readonly string[];
  required?: boolean;
  /** Whether it cannot be changed any more: the page shows the value. */
  fixed?: boolean;
}

export interface ConsoleDefinitionsPages {
  'console-definitions': ConsoleFrame & {
    kind: DefinitionKind;
    rows: {
      name: string;
      /** By language. */
      label: Record<string, string>;
      /** Keys of the catalogue under `console.definitions.choice.`, or texts. */
      facts: string[];
      uri: string;
    }[];
    newUri: string;
  };
  'console-definition-form': ConsoleFrame & {
    kind: DefinitionKind;
    listUri: string;
    /** The definition that the form changes; undefined for a new one. */
    name?: string;
    fields: DefinitionField[];
    form: FormView;
    deleteUri?: string;
    refused?: RefusedView;
  };
  /** Asks for the name in `typed`. */
  'console-definition-delete': ConsoleFrame & {
    kind: DefinitionKind;
    listUri: string;
    name: string;
    uri: string;
    form: FormView;
    typed?: string;
    problem?: 'typed';
  };
}

/** A value of an attribute as a field of a form, whose name is `attribute.NAME`. */
export interface AttributeField {
  name: string;
  /** By language. */
  label: Record<string, string>;
  type: 'string' | 'number' | 'boolean' | 'date' | 'string_list';
  value: string;
  choices?: readonly string[];
  fault?: AttributeFault | 'taken';
}
