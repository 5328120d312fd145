// Keeps what is behind a refusal under the reference that its page shows, for `gatehouse why`.
import type { OAuthError, RefusalFacts } from '../../oauth/errors.ts';
import { shownText } from '../../oauth/shown-address.ts';
import type { Store } from '../../repositories/store.ts';
import type { Limits } from '../rate-limits/rate-limits.ts';

/** @param from the network of the request, and the path of its address */
export type KeepRefusal = (
  reference: string,
  refusal: OAuthError,
  from: { network: string; path: string },
) => Promise<void>;

/** Ten a minute and network are kept: one network must not push out what other users were told (security R105). */
export function createKeepRefusal(
  store: Pick<Store, 'refusals'>,
  limits: Pick<Limits, 'blocked' | 'consume'>,
): KeepRefusal {
  return async (reference, refusal, { network, path }) => {
    if (limits.blocked('keptRefusals', network) > 0 || (await limits.consume('keptRefusals', network)) > 0) return;
    const { code, description, cause, facts } = refusal;
    const reason = cause instanceof Error ? cause.message : typeof cause === 'string' ? cause : undefined;
    const kept: RefusalFacts = {
      error: code,
      error_description: description,
      path: shownText(path),
      ...(reason !== undefined && { reason: shownText(reason) }),
      ...facts,
    };
    await store.refusals.keep(reference, kept);
  };
}
