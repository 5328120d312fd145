// Declares the answers of the operations on the keys for SAML applications.
import { z } from 'zod';
import { samlKeyStates } from '../../domain/keys/saml-keys.ts';

const time = z.iso.datetime();
const samlKey = z.object({
  id: z.string(),
  state: z.enum(samlKeyStates).describe('The key signs, or is published before or after it does.'),
  certificate: z.string().describe('In PEM.'),
  created_at: time,
  valid_until: time.describe('The end of the certificate.'),
});

export const samlAnswers = { SamlKeys: z.object({ keys: z.array(samlKey) }) } as const;
