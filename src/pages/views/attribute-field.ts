// Declares a field for the value of an attribute, in the console and on the account pages.
import type { AttributeFault } from '../../rules/claims/attributes.ts';

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
