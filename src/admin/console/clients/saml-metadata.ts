// Reads the metadata that the form of a new SAML application has, as a text or as an address, and fills its empty fields from them.
import type { FormMember } from '../../../entities/field.ts';
import { paragraph } from '../../../entities/field.ts';
import type { ClaimRule } from '../../../rules/claims/claim-rules.ts';
import { samlPresetNames } from '../../../rules/saml/presets.ts';
import type { FieldView } from '../../../pages/views/parts.ts';
import { describeApplication, type MetadataInput } from '../../operations/saml-metadata.ts';
import type { AdminSession } from '../admin-session.ts';
import { type Faults, fieldsOf, type Typed, typedIn, typedOf } from '../form.ts';
import { clientForm } from './fields.ts';
import { findKind } from '../../operations/client-kinds/kinds.ts';
import { type FormProblem, problemOf } from './form.ts';

const members: readonly FormMember[] = [
  { name: 'saml_preset', kind: 'select', choices: ['', ...samlPresetNames] },
  { name: 'saml_metadata_uri', kind: 'address', most: 2000 },
  { name: 'saml_metadata', kind: 'lines', lines: 4, writing: 'ltr', typing: paragraph },
];

export const metadataFields = (typed: Typed, faults: Faults): FieldView[] => fieldsOf(members, typed, faults);

/** The form with what the metadata say where nothing was typed; the metadata themselves are shown again if they are refused. */
export async function withMetadata(
  admin: AdminSession,
  form: Typed,
  sent: Record<string, string>,
): Promise<{ typed: Typed; rules?: ClaimRule[] | undefined; refusal?: FormProblem }> {
  const own = typedIn(members, sent);
  const given: MetadataInput = Object.fromEntries(
    Object.entries(own).flatMap(([name, value]) => (value?.trim() ? [[name, value.trim()]] : [])),
  );
  try {
    const members = await admin.run(describeApplication, given);
    const described = typedOf(clientForm(findKind('saml')), { ...members });
    const filled = Object.entries(form).map(([name, value]) => [name, value?.trim() ? value : (described[name] ?? '')]);
    // kept for the page that a later fault shows
    return { typed: { ...Object.fromEntries(filled), ...own } as Typed, rules: members.claim_rules };
  } catch (error) {
    return { typed: { ...form, ...own }, refusal: problemOf(error) };
  }
}
