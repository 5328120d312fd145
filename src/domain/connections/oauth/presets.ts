// Lists the presets of OAuth 2.0: services whose answers need more checks, or which need fewer settings, than others.
import type { ConnectionVariant } from '../kind.ts';
import { githubPreset } from './github.ts';
import { anyService, type OAuthProfile } from './profile.ts';

type Variant = ConnectionVariant<OAuthProfile>;

/** One line for each preset. @param allowed OUTBOUND_ALLOW, which names the services of a test system */
const makers: Record<string, (allowed: readonly string[]) => Variant> = {
  github: githubPreset,
};

export function oauthPresets(allowed: readonly string[]): (preset: string | undefined) => Variant | undefined {
  const made = new Map(Object.entries(makers).map(([name, make]) => [name, make(allowed)]));
  const any = anyService(allowed);
  return (preset) => (preset === undefined ? any : made.get(preset));
}
