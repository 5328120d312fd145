// Finds what a kind or a preset of a connection declares, without a service.
import type { ConnectionVariant } from '../../src/domain/connections/kind.ts';
import { directoryVariant } from '../../src/domain/connections/ldap/ldap.ts';
import { oauthPresets } from '../../src/domain/connections/oauth/presets.ts';
import { oidcPresets } from '../../src/domain/connections/oidc/presets.ts';
import { samlVariant } from '../../src/domain/connections/saml/saml.ts';

const kinds: Record<string, (preset: string | undefined) => ConnectionVariant | undefined> = {
  oidc: oidcPresets([]),
  oauth: oauthPresets([]),
  ldap: () => directoryVariant,
  saml: () => samlVariant([], () => Promise.reject(new Error('no test makes a key here'))),
};

export const settingsVariant = ({ kind, preset }: { kind: string; preset?: string | undefined }): ConnectionVariant =>
  kinds[kind]!(preset)!;
