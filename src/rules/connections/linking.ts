// Decides what a verified identity of a connection leads to. The only rule that links: every kind of connection takes it (federation 4).

/** Why an identity is not admitted. */
export const linkRefusals = [
  'disabled', // its user is disabled
  'linked-elsewhere', // to another user
  'linked-otherwise', // the user has a link to this connection already
  'account-linked-otherwise', // the same, where the address found the user, who is not signed in
  'not-signed-in', // it was begun to link, and no user is signed in recently
  'own-session', // the account has power: its user links it while signed in, or an administrator does (federation FR7)
  'address-taken', // by an account that has not confirmed it
  'not-admitted', // no account, and the connection makes none
  'elsewhere', // another connection has authority over the domain
] as const;
export type LinkRefusal = (typeof linkRefusals)[number];

export interface LinkFacts {
  /** A sign-in's answer cannot link, nor a link's answer sign in (federation FR4). */
  purpose: 'sign-in' | 'link';
  /** The user to whom the identity is linked. */
  linked: { sub: string; enabled: boolean } | undefined;
  /** For the purpose `link`: the user who began it, in this browser. */
  session: { sub: string; recent: boolean; hasLink: boolean } | undefined;
  /** The user whom an administrator or a provisioning source expects. */
  expected: string | undefined;
  linking: 'never' | 'ask' | 'domain';
  provisioning: 'off' | 'invited' | 'on';
  /** `authority` if an administrator stated that the connection owns the domain; `word` if only its answer says that the address is verified. */
  vouches: 'authority' | 'word' | 'no';
  /** Whether another connection has authority over the domain of the address. */
  ownedElsewhere: boolean;
  /** The account with the address, which is read only if the connection vouches for it (federation FR2). */
  account:
    | {
        sub: string;
        enabled: boolean;
        /** Who confirmed its address; undefined if it is not confirmed (security R156). */
        confirmedBy: 'mail' | 'administrator' | 'authority' | 'word' | undefined;
        /** It has an administrator's role or a guarded group. */
        powerful: boolean;
        hasLink: boolean;
        /** It has a link to another connection. */
        hasOtherLink: boolean;
        /** A link to this connection was removed (federation FR8). */
        removedLink: boolean;
      }
    | undefined;
}

export type LinkDecision =
  | { decision: 'sign-in'; sub: string }
  /** A page names the account and the identity, and has one button. */
  | { decision: 'confirm'; sub: string }
  | { decision: 'link'; sub: string; how: 'administrator' | 'domain' }
  /** The user proves the account once, by its own factors. */
  | { decision: 'prove'; sub: string }
  | { decision: 'provision' }
  | { decision: 'refuse'; reason: LinkRefusal };

const refuse = (reason: LinkRefusal): LinkDecision => ({ decision: 'refuse', reason });

export function decideLink(facts: LinkFacts): LinkDecision {
  const { linked, session, account } = facts;
  if (facts.purpose === 'link') {
    if (!session?.recent) return refuse('not-signed-in');
    if (linked) return refuse(linked.sub === session.sub ? 'linked-otherwise' : 'linked-elsewhere');
    return session.hasLink ? refuse('linked-otherwise') : { decision: 'confirm', sub: session.sub };
  }
  // nothing else is looked at
  if (linked) return linked.enabled ? { decision: 'sign-in', sub: linked.sub } : refuse('disabled');
  if (facts.expected !== undefined) return { decision: 'link', sub: facts.expected, how: 'administrator' };
  if (facts.ownedElsewhere) return refuse('elsewhere');
  if (facts.vouches !== 'no' && account) return decideAccount(facts, account);
  return facts.provisioning === 'on' ? { decision: 'provision' } : refuse('not-admitted');
}

/** An account has the address that the connection vouches for. No second account can have it. */
function decideAccount(facts: LinkFacts, account: NonNullable<LinkFacts['account']>): LinkDecision {
  if (account.confirmedBy === undefined) return refuse('address-taken');
  if (account.hasLink) return refuse('account-linked-otherwise');
  if (facts.linking === 'never' || account.powerful || account.removedLink) return refuse('own-session');
  if (!account.enabled) return refuse('disabled');
  // a stranger may have got a word for the address, or left another way in: the account has to be proven (security R156)
  const isCertain = account.confirmedBy !== 'word' && !account.hasOtherLink;
  return facts.linking === 'domain' && facts.vouches === 'authority' && isCertain
    ? { decision: 'link', sub: account.sub, how: 'domain' }
    : { decision: 'prove', sub: account.sub };
}
