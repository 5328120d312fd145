// Lists the kinds of clients by the protocol in which they sign users in, and what each of them may do at the endpoints of OAuth.

/** What a client of a kind may do at the endpoints of OAuth. */
interface KindRules {
  /** Whether it sends authorization requests. */
  authorizes: boolean;
  /** Whether it authenticates with credentials, and so gets tokens. */
  authenticates: boolean;
}

export const clientKindRules = {
  oauth: { authorizes: true, authenticates: true },
  saml: { authorizes: false, authenticates: false },
  // a protected site: the service itself redeems the codes of its sign-ins
  proxy: { authorizes: true, authenticates: false },
} as const satisfies Record<string, KindRules>;

export type StoredKind = keyof typeof clientKindRules;

/** Those that answers name; the others are clients of OAuth. */
export const otherKinds = ['saml', 'proxy'] as const satisfies Exclude<StoredKind, 'oauth'>[];
