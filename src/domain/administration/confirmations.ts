// Finds the accounts in the domains of a connection whose address was confirmed by a word only, and takes the confirmations back, a part of
// administration.ts (security R156).
import { notFound } from '../../oauth/errors.ts';
import { domainOf, isOfDomains } from '../../rules/connections/mail-domain.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Connection } from '../../entities/connections.ts';
import type { Store } from '../../repositories/store.ts';
import type { WordConfirmation } from '../../repositories/users/word-confirmations.ts';

type Owner = Pick<Connection, 'authoritativeDomains' | 'subdomains'>;

const pageSize = 500;

const isIn = ({ email }: WordConfirmation, { authoritativeDomains, subdomains }: Owner): boolean => {
  const domain = domainOf(email);
  return domain !== undefined && isOfDomains(domain, authoritativeDomains, subdomains);
};

/** In steps: there may be very many. */
async function* pagesOf(store: Pick<Store, 'wordConfirmations'>, owner: Owner): AsyncGenerator<WordConfirmation[]> {
  const { authoritativeDomains: domains, subdomains } = owner;
  if (domains.length === 0) return;
  for (let after = ''; ;) {
    const page = await store.wordConfirmations.list({ domains, subdomains }, after, pageSize);
    yield page.filter((one) => isIn(one, owner));
    if (page.length < pageSize) return;
    after = page.at(-1)!.sub;
  }
}

/** The accounts in the domains over which a connection has authority. @param limit the number of them that are returned */
export async function wordConfirmations(
  store: Pick<Store, 'wordConfirmations'>,
  owner: Owner,
  limit: number,
): Promise<{ accounts: WordConfirmation[]; count: number }> {
  const accounts: WordConfirmation[] = [];
  let count = 0;
  for await (const page of pagesOf(store, owner)) {
    accounts.push(...page.slice(0, limit - accounts.length));
    count += page.length;
  }
  return { accounts, count };
}

export function confirmationChanges(store: Store) {
  return {
    /** Takes these confirmations back. @returns how many accounts there were @throws OAuthError not_found */
    async takeBackConfirmations(by: Actor, id: string): Promise<number> {
      const owner = await store.connections.find(id);
      if (!owner) throw notFound('there is no such connection');
      let count = 0;
      for await (const page of pagesOf(store, owner))
        count += await store.transaction(async ({ wordConfirmations: repository, auditEvents }) => {
          const subs = (await repository.lock(page.map(({ sub }) => sub)))
            .filter((one) => isIn(one, owner))
            .map(({ sub }) => sub);
          await repository.takeBack(subs);
          const detail = { members: ['email_verified'], connection: id };
          await auditEvents.insertMany(
            subs.map((sub) => ({ ...by, type: 'user.changed', outcome: 'success', sub, detail })),
          );
          return subs.length;
        });
      return count;
    },
  };
}
