// Signs users in with Apple accounts: Apple posts the answer, and the service makes a new client secret for each request (federation 5).
import { member } from '../../../entities/entity.ts';
import { addressOf, type Claims } from '../../../rules/connections/connection-answer.ts';
import { text } from '../../../oauth/text.ts';
import { isAppleKey, signAppleSecret } from '../../../tokens/upstream-client.ts';
import { type ConnectionVariant, variantOf } from '../kind.ts';
import { clientId, originOf, scopeSetting } from '../settings.ts';
import { type OidcProfile, profileOf } from './profile.ts';
import { readSettings } from './settings.ts';

/** The id of a team or a key: ten letters and digits. */
const appleId = (says: string) =>
  member(says, text(20).regex(/^[A-Z0-9]{10}$/, { error: 'invalid' }), {
    required: true,
    trust: true,
    form: 'text',
  });

export function applePreset(allowed: readonly string[]): ConnectionVariant<OidcProfile> {
  const settings = {
    client_id: clientId,
    team_id: appleId('The id of the team.'),
    key_id: appleId('The id of the key.'),
    scope: scopeSetting('openid name email'),
    issuer: originOf(['https://appleid.apple.com'], allowed),
  };
  return variantOf(settings, {
    // Apple sends a mail to each address before it states that the address is verified, and creates the relay addresses itself
    starts: { trust_email: true },
    isSecret: isAppleKey,
    profile({ client_id, team_id: teamId, key_id: keyId, scope, issuer }) {
      const base = profileOf(
        readSettings({ issuer, client_id, scope, token_endpoint_auth_method: 'client_secret_post' }),
      );
      return {
        ...base,
        userinfo: false,
        isPosted: true,
        authentication: (discovery) => ({
          ...base.authentication(discovery),
          secretFrom: (pem, now) => signAppleSecret(pem, { teamId, keyId, clientId: client_id, audience: issuer, now }),
        }),
        parameters: () => ({}),
        identify({ idToken, claims }) {
          const isVerified = idToken['email_verified'] === true || idToken['email_verified'] === 'true';
          return { issuer, subject: idToken.sub, address: addressOf({ ...claims, email_verified: isVerified }) };
        },
        unsignedNames: ({ user }) => namesIn(user),
      };
    },
  });
}

/** The names in the field that Apple posts once. The user's browser may have changed the field. */
function namesIn(user: string | undefined): Claims | undefined {
  let read: unknown;
  try {
    read = JSON.parse(user ?? '{}');
  } catch {
    return undefined;
  }
  const { firstName, lastName } = ((read as { name?: unknown } | null)?.name ?? {}) as Record<string, unknown>;
  const [given, family] = [firstName, lastName].map((one) => (typeof one === 'string' ? one.trim() : ''));
  const name = [given, family].filter((one) => one !== '').join(' ');
  if (name === '') return undefined;
  return { name, ...(given && { given_name: given }), ...(family && { family_name: family }) };
}
