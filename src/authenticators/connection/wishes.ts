// Reads from an authorization request what the service asks of a provider, beside the user's identity.
import type { AuthorizationRequestRow } from '../../repositories/authorization-requests/authorization-requests.ts';
import type { Session } from '../../repositories/sessions/sessions.ts';

/** A signed-in user who signs in here again, or whose application asks for a new sign-in, must also sign in at the provider again. */
export function wishesOf(parameters: AuthorizationRequestRow['parameters'] | undefined, session: Session | undefined) {
  const { prompt, max_age: maxAge, login_hint: hint, ui_locales: uiLocales } = parameters ?? {};
  const age = maxAge !== undefined && /^\d{1,9}$/.test(maxAge) ? Number(maxAge) : undefined;
  const prompts = (prompt ?? '').split(' ');
  return {
    login: session !== undefined || ['login', 'create'].some((one) => prompts.includes(one)) || age === 0,
    maxAge: age,
    hint,
    uiLocales: uiLocales?.slice(0, 200),
  };
}
