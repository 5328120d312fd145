// Lists what well-known SAML applications expect, as their documentation says: names, attributes, and who begins the sign-in.
import type { ClaimRule } from '../claims/claim-rules.ts';

/** What a new application gets by the preset; what an administrator or the metadata say goes before it. */
export interface SamlPreset {
  entity_id?: string;
  acs_uris?: string[];
  name_id: string;
  idp_initiated?: true;
  claim_rules?: ClaimRule[];
}

const attribute = (claim: string, from: string): ClaimRule => ({ claim, from, into: ['saml'] });
const soap = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims';

export const samlPresets = {
  // IAM: the attribute Role needs a rule of its own, which names the account (docs/saml.md)
  aws: {
    entity_id: 'urn:amazon:webservices',
    acs_uris: ['https://signin.aws.amazon.com/saml'],
    name_id: 'persistent',
    idp_initiated: true,
    claim_rules: [attribute('https://aws.amazon.com/SAML/Attributes/RoleSessionName', 'preferred_username')],
  },
  google: { name_id: 'email' },
  github: {
    name_id: 'persistent',
    claim_rules: [attribute('emails', 'email'), attribute('full_name', 'name')],
  },
  atlassian: {
    name_id: 'email',
    claim_rules: [attribute(`${soap}/givenname`, 'given_name'), attribute(`${soap}/surname`, 'family_name')],
  },
  // its Federation ID
  salesforce: { name_id: 'username' },
  vcenter: {
    name_id: 'username',
    claim_rules: [
      attribute('http://schemas.xmlsoap.org/claims/UPN', 'preferred_username'),
      attribute('http://rsa.com/schemas/attr-names/2009/01/GroupIdentity', 'groups'),
    ],
  },
} satisfies Record<string, SamlPreset>;

export type SamlPresetName = keyof typeof samlPresets;
export const samlPresetNames = Object.keys(samlPresets) as SamlPresetName[];
