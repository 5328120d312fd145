// Makes the account of a user at a target what it is to be: created, taken over, changed, disabled or deleted (federation 8, FR37).
import type {
  Account,
  AccountOutcome,
  ProvisioningProblem,
} from '../../repositories/provisioning/provisioned-users.ts';
import type { Target } from '../../repositories/provisioning/provisioning-targets.ts';
import type { Store } from '../../repositories/store.ts';
import { mayUse } from '../../rules/access/access.ts';
import {
  accountOf,
  changesOf,
  type Found,
  hasAddress,
  userSchema,
  type Values,
} from '../../rules/provisioning/account.ts';
import type { TargetConnection } from './target-client.ts';

/** What became of an attempt: an outcome to record, or that the user has no account, or another access than noted, or another instance has taken over. */
export type Delivered =
  | { kind: 'outcome'; outcome: AccountOutcome; failure?: string }
  | { kind: 'nothing' }
  | { kind: 'recount'; isWanted: boolean }
  | { kind: 'lost' };

const problems: Record<ProvisioningProblem | 'chosen', string> = {
  taken: 'an account with this userName has another externalId',
  // shown as taken
  chosen:
    'an account of this name exists there: the user may have chosen the name, and the account has no address of the user that is confirmed here',
  ambiguous: 'several accounts match',
  unnamed: 'the answer named no id of the new account, and the account cannot be found',
};

/** Says whether an account that was there before, and has the user's name, is the user's. */
type IsUsers = (found: Found) => Promise<boolean>;
/** What a user who may use the application is to have there. */
interface Wanted {
  externalId: string;
  values: Values;
  isUsers: IsUsers;
}

/** The part of an outcome that stays while nothing is known to be different. */
const asBefore = (account: Account) => ({
  externalId: account.externalId,
  remoteId: account.remoteId,
  written: account.written,
  isMade: account.isMade,
});

export function createAccountDelivery(store: Store) {
  async function wantedOf({ sub }: Account, { client: clientId, attributes }: Target): Promise<Wanted | undefined> {
    // not from the cache, which may be out of date
    const [user, client] = [await store.users.find(sub), await store.clients.find(clientId)];
    if (!user || !client || mayUse(user, client) !== 'yes') return undefined;
    const externalId = (await store.pairwiseSubjects.obtain(client.metadata, sub)) ?? sub;
    const address = user.confirmedBy === undefined ? undefined : user.email;
    // the word of a connection or of an import proves nothing
    const proven = user.confirmedBy === 'word' ? undefined : address;
    const isUsers = async ({ values }: Found): Promise<boolean> =>
      (proven !== undefined && hasAddress(values, proven)) || (await store.users.isNameGiven(sub));
    return {
      externalId,
      isUsers,
      values: accountOf({ username: user.username, address, claims: user.claims }, externalId, attributes),
    };
  }

  /**
   * Finds the account by externalId, then by userName, and never by an address.
   * @param named isUsers says whether the account of this name, without an externalId, may be taken over
   */
  async function match(
    connection: TargetConnection,
    externalId: string,
    named?: { userName: string; isUsers: IsUsers },
  ): Promise<{ found?: Found; problem?: keyof typeof problems; status: number }> {
    const { found: own, status } = await connection.find('Users', 'externalId', externalId);
    if (own.length > 1) return { problem: 'ambiguous', status };
    if (own[0] || !named) return { ...(own[0] && { found: own[0] }), status };
    const { found: all, status: answered } = await connection.find('Users', 'userName', named.userName);
    if (all.length > 1) return { problem: 'ambiguous', status: answered };
    const [found] = all;
    if (!found || found.externalId === externalId) return { ...(found && { found }), status: answered };
    if (found.externalId !== undefined) return { problem: 'taken', status: answered };
    return (await named.isUsers(found)) ? { found, status: answered } : { problem: 'chosen', status: answered };
  }

  async function create(
    account: Account,
    connection: TargetConnection,
    { externalId, values, isUsers }: Wanted,
  ): Promise<Delivered> {
    const problem = (which: keyof typeof problems, status: number): Delivered => ({
      kind: 'outcome',
      outcome: {
        act: 'unchanged',
        state: 'none',
        externalId,
        remoteId: undefined,
        written: undefined,
        isMade: false,
        problem: which === 'chosen' ? 'taken' : which,
        status,
      },
      failure: problems[which],
    });
    const written = values;
    const userName = String(values['userName']);
    const matched = await match(connection, externalId, { userName, isUsers });
    if (matched.problem) return problem(matched.problem, matched.status);
    if (matched.found) {
      const { id } = matched.found;
      // only a request of ours made an account with this externalId, if one was sent
      const isMade = account.isPosted && matched.found.externalId === externalId;
      const status = await connection.patch('Users', id, changesOf({}, values));
      if (status !== undefined)
        return {
          kind: 'outcome',
          outcome: {
            act: isMade ? 'created' : 'adopted',
            state: 'active',
            externalId,
            remoteId: id,
            written,
            isMade,
            status,
          },
        };
    }
    // the target hides what it made for us: one more would be a double
    if (account.problem === 'unnamed') return problem('unnamed', matched.status);
    if (!(await store.provisionedUsers.post(account, externalId))) return { kind: 'lost' };
    const made = await connection.create('Users', { schemas: [userSchema], ...values });
    // there was no account of this name before
    const id = made.id ?? (await match(connection, externalId, { userName, isUsers: async () => true })).found?.id;
    if (id === undefined) return problem('unnamed', made.status);
    return {
      kind: 'outcome',
      outcome: {
        act: 'created',
        state: 'active',
        externalId,
        remoteId: id,
        written,
        isMade: true,
        status: made.status,
      },
    };
  }

  async function keep(account: Account, connection: TargetConnection, wanted: Wanted): Promise<Delivered> {
    const { externalId, values } = wanted;
    let before = account.written ?? {};
    const { remoteId, isToCheck } = account;
    if (remoteId === undefined) return create(account, connection, wanted);
    if (isToCheck) {
      const found = await connection.read('Users', remoteId);
      if (!found) return create(account, connection, wanted);
      // an account that ended there is one again; other values may be those into which the target turned ours
      if (found.values['active'] === false) before = { ...before, active: false };
    }
    const changes = changesOf(before, values);
    const status = changes.length === 0 ? undefined : await connection.patch('Users', remoteId, changes);
    if (changes.length > 0 && status === undefined) return create(account, connection, wanted);
    return {
      kind: 'outcome',
      outcome: {
        ...asBefore(account),
        act: changes.length === 0 ? 'unchanged' : 'changed',
        state: 'active',
        externalId,
        written: values,
        status,
      },
    };
  }

  async function end(account: Account, target: Target, connection: TargetConnection): Promise<Delivered> {
    const left = { ...asBefore(account), state: 'left' as const };
    if (account.state === 'left') return { kind: 'outcome', outcome: { ...left, act: 'unchanged', status: undefined } };
    let { remoteId, isMade } = account;
    if (remoteId === undefined) {
      // an instance that was killed may have created it
      if (!account.isPosted || account.externalId === undefined) return { kind: 'nothing' };
      const { found } = await match(connection, account.externalId);
      if (!found) return { kind: 'nothing' };
      remoteId = found.id;
      isMade = true;
    }
    if (target.leave === 'nothing')
      return { kind: 'outcome', outcome: { ...left, act: 'unchanged', status: undefined } };
    const gone = { ...left, isMade: false, remoteId: undefined, written: undefined };
    if (target.leave === 'delete' && isMade) {
      const status = await connection.remove('Users', remoteId);
      return { kind: 'outcome', outcome: { ...gone, act: 'deleted', status } };
    }
    const status = await connection.patch('Users', remoteId, [{ op: 'replace', path: 'active', value: false }]);
    if (status === undefined) return { kind: 'outcome', outcome: { ...gone, act: 'deleted', status: 404 } };
    const written = account.written && { ...account.written, active: false };
    return { kind: 'outcome', outcome: { ...left, act: 'disabled', remoteId, isMade, written, status } };
  }

  /** @throws TargetFailure, RequestRefused */
  return async (account: Account, target: Target, connection: TargetConnection): Promise<Delivered> => {
    const wanted = await wantedOf(account, target);
    // what would end counts among what ends at once, and may have to wait for an administrator (federation FR16)
    if (account.isWanted !== (wanted !== undefined)) return { kind: 'recount', isWanted: wanted !== undefined };
    return wanted ? keep(account, connection, wanted) : end(account, target, connection);
  };
}
