// Lists the presets of OpenID Connect: providers whose answers need more checks, or which need fewer settings, than others.
import type { ConnectionVariant } from '../kind.ts';
import { applePreset } from './apple.ts';
import { googlePreset } from './google.ts';
import { microsoftPreset } from './microsoft.ts';
import { anyProvider, type OidcProfile } from './profile.ts';

type Variant = ConnectionVariant<OidcProfile>;

/** One line for each preset. @param allowed OUTBOUND_ALLOW, which names the services of a test system */
const makers: Record<string, (allowed: readonly string[]) => Variant> = {
  google: googlePreset,
  microsoft: microsoftPreset,
  apple: applePreset,
};

export function oidcPresets(allowed: readonly string[]): (preset: string | undefined) => Variant | undefined {
  const made = new Map(Object.entries(makers).map(([name, make]) => [name, make(allowed)]));
  return (preset) => (preset === undefined ? anyProvider : made.get(preset));
}
