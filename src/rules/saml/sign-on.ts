// Decides about the AuthnRequest of an application: where its answer goes, and which of its wishes cannot be met (SAML Core 3.4.1, federation F45).
import { bindings } from '../../saml/names.ts';
import { comparisons, demandedLevels, knownClasses, type RequestedContext } from './authn-context.ts';
import { admitsFormat } from './name-id.ts';
import type { SamlStatus } from './status.ts';

/** The wishes of a request, as the reader gives them. */
export interface Wishes {
  acsUri: string | undefined;
  acsIndex: string | undefined;
  binding: string | undefined;
  nameIdFormat: string | undefined;
  context: { comparison: string; classes: readonly string[] } | undefined;
  asksMore: boolean;
}

/** The address that gets the answer; undefined if the request names one that is not registered. */
export function answerAddress(registered: readonly string[], { acsUri, acsIndex }: Wishes): string | undefined {
  if (acsUri !== undefined) return acsIndex === undefined && registered.includes(acsUri) ? acsUri : undefined;
  if (acsIndex === undefined) return registered[0];
  // the position in the list, whose first is 0
  return /^\d{1,5}$/.test(acsIndex) ? registered[Number(acsIndex)] : undefined;
}

/** The context that a request demands; undefined for one that is not known. */
export const requestedContext = ({ context }: Pick<Wishes, 'context'>): RequestedContext | undefined =>
  context && isComparison(context.comparison)
    ? { comparison: context.comparison, classes: knownClasses(context.classes) }
    : undefined;

const isComparison = (given: string): given is RequestedContext['comparison'] =>
  (comparisons as readonly string[]).includes(given);

/** Why the answer has no assertion; undefined if the request can be met once the user has signed in. */
export function unmetWish(nameId: string, wishes: Wishes): SamlStatus | undefined {
  if (wishes.binding !== undefined && wishes.binding !== bindings.post)
    return { code: 'Requester', inner: 'UnsupportedBinding' };
  if (wishes.asksMore) return { code: 'Requester', inner: 'RequestUnsupported' };
  if (!admitsFormat(nameId, wishes.nameIdFormat)) return { code: 'Requester', inner: 'InvalidNameIDPolicy' };
  if (!wishes.context) return undefined;
  const context = requestedContext(wishes);
  return context && demandedLevels(context).length > 0 ? undefined : { code: 'Responder', inner: 'NoAuthnContext' };
}
