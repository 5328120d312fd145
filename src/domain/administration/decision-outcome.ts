// Says how one of several decisions about clients ended.

/**
 * The result of one of several decisions: `changed` since the administrator reviewed it, `held` because another client holds a
 * claimed resource, or `gone` because it no longer exists.
 */
export interface DecisionOutcome {
  clientId: string;
  outcome: 'decided' | 'changed' | 'held' | 'gone';
}
