// Decides the status codes of a SAML response without an assertion (SAML Core 3.2.2.2).
import type { ErrorCode } from '../../oauth/errors.ts';

const prefix = 'urn:oasis:names:tc:SAML:2.0:status:';

/** Who is at fault, and the reason where SAML has a name for it. */
export interface SamlStatus {
  code: 'Success' | 'Requester' | 'Responder';
  inner?: InnerCode;
}
type InnerCode =
  | 'NoPassive'
  | 'NoAuthnContext'
  | 'InvalidNameIDPolicy'
  | 'RequestDenied'
  | 'RequestUnsupported'
  | 'UnsupportedBinding'
  | 'UnknownPrincipal';

export const success: SamlStatus = { code: 'Success' };

/** The status for an error of the interaction, which has the codes of OAuth. */
const ofErrors: Partial<Record<ErrorCode, SamlStatus>> = {
  login_required: { code: 'Responder', inner: 'NoPassive' },
  interaction_required: { code: 'Responder', inner: 'NoPassive' },
  consent_required: { code: 'Responder', inner: 'NoPassive' },
  unmet_authentication_requirements: { code: 'Responder', inner: 'NoAuthnContext' },
  access_denied: { code: 'Responder', inner: 'RequestDenied' },
};

export const statusOfError = (code: ErrorCode): SamlStatus => ofErrors[code] ?? { code: 'Responder' };

/** The URIs of a status, the outer one first. */
export const statusUris = ({ code, inner }: SamlStatus): [string, string?] =>
  inner === undefined ? [prefix + code] : [prefix + code, prefix + inner];
