// Decides how a verified identity continues: sign in, link, confirm, make a user, or refuse. Every kind of connection links by this rule alone (federation 4).

/** Why the service refuses an identity. */
export const linkRefusals = [
  'disabled', // its user is disabled
  'linked-elsewhere', // the identity is linked to another user
  'linked-otherwise', // the user has a link to this connection already
  'account-linked-otherwise', // the account with the address has a link to this connection already, and its user is not signed in
  'not-signed-in', // the request was to link, and no user has signed in recently
  'own-session', // only the account's signed-in user or an administrator may link it, for example because it has a role (federation FR7)
  'address-taken', // an account has the address, but has not confirmed it
  'not-admitted', // the user has no account, and the connection makes none
  'elsewhere', // another connection has authority over the domain
] as const;
export type LinkRefusal = (typeof linkRefusals)[number];

export interface LinkFacts {
  /** The purpose of the request. The answer to a sign-in cannot link, and the answer to a link cannot sign in (federation FR4). */
  purpose: 'sign-in' | 'link';
  /** The user to whom the identity is linked. */
  linked: { sub: string; enabled: boolean } | undefined;
  /** For the purpose `link`: the user who began the request in this browser. */
  session: { sub: string; recent: boolean; hasLink: boolean } | undefined;
  /** The user whom an administrator or a provisioning source expects. */
  expected: string | undefined;
  linking: 'never' | 'ask' | 'domain';
  provisioning: 'off' | 'invited' | 'on';
  /** `authority` if an administrator stated that the connection owns the domain; `word` if only the answer states that the address is verified. */
  vouches: 'authority' | 'word' | 'no';
  /** Whether another connection has authority over the domain of the address. */
  ownedElsewhere: boolean;
  /** The account with the address. It is read only if the connection vouches for the address (federation FR2). */
  account:
    | {
        sub: string;
        enabled: boolean;
        /** The source that confirmed its address; undefined if the address is not confirmed (security R156). */
        confirmedBy: 'mail' | 'administrator' | 'authority' | 'word' | undefined;
        /** Whether the account has an administrator's role or a guarded group. */
        powerful: boolean;
        hasLink: boolean;
        /** Whether the account has a link to another connection. */
        hasOtherLink: boolean;
        /** Whether a link of the account to this connection was removed (federation FR8). */
        removedLink: boolean;
      }
    | undefined;
}

export type LinkDecision =
  | { decision: 'sign-in'; sub: string }
  /** A page names the account and the identity, and has one button. */
  | { decision: 'confirm'; sub: string }
  | { decision: 'link'; sub: string; how: 'administrator' | 'domain' }
  /** The user must once sign in to the account with its own factors. */
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
  // the link alone decides
  if (linked) return linked.enabled ? { decision: 'sign-in', sub: linked.sub } : refuse('disabled');
  if (facts.expected !== undefined) return { decision: 'link', sub: facts.expected, how: 'administrator' };
  if (facts.ownedElsewhere) return refuse('elsewhere');
  if (facts.vouches !== 'no' && account) return decideAccount(facts, account);
  return facts.provisioning === 'on' ? { decision: 'provision' } : refuse('not-admitted');
}

/** Decides about the account whose address the connection vouches for. No second account can have the address. */
function decideAccount(facts: LinkFacts, account: NonNullable<LinkFacts['account']>): LinkDecision {
  if (account.confirmedBy === undefined) return refuse('address-taken');
  if (account.hasLink) return refuse('account-linked-otherwise');
  if (facts.linking === 'never' || account.powerful || account.removedLink) return refuse('own-session');
  if (!account.enabled) return refuse('disabled');
  // a stranger may have caused such a word, or linked an identity to the account: the user must prove the account (security R156)
  const isCertain = account.confirmedBy !== 'word' && !account.hasOtherLink;
  return facts.linking === 'domain' && facts.vouches === 'authority' && isCertain
    ? { decision: 'link', sub: account.sub, how: 'domain' }
    : { decision: 'prove', sub: account.sub };
}
