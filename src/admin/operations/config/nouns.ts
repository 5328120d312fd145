// Lists the nouns of configuration files: each entity whose operations the service has, and those whose operations are written out.
import { makeWebhookSecret } from '../../../crypto/webhook-signature.ts';
import type { Entity, Input } from '../../../entities/entity.ts';
import { signUpLinks } from '../../../entities/sign-up-links.ts';
import { invalidRequest } from '../../../oauth/errors.ts';
import { refusal } from '../../../oauth/refusals.ts';
import { secretsOfMove, type TargetAddresses } from '../../../rules/provisioning/moved-target.ts';
import { operations } from '../index.ts';
import { appearanceNoun } from './appearance-noun.ts';
import { clientNoun } from './client-noun.ts';
import { connectionNoun } from './connection-noun.ts';
import { groupNoun } from './group-noun.ts';
import { actsOf, entityNoun, type EntityNounOptions, type FileNoun } from './noun.ts';

// the declaration of targets has checked the members, and the compiler cannot follow it
const addressesIn = (members: Input) => members as unknown as TargetAddresses;

const writtenOut = [connectionNoun, groupNoun, clientNoun, appearanceNoun];
/** What an entity has beside its declaration. */
const more: Record<string, EntityNounOptions> = {
  attributes: {
    async effects({ store }, { key }, change): Promise<Record<string, number>> {
      return change ? {} : { users_who_lose_a_value: await store.planEffects.ofAttribute(key) };
    },
  },
  // the resources of a client that no administrator has changed follow from its metadata
  resources: { isForeign: (one) => (one as { registered: boolean }).registered },
  provisioning_targets: {
    moves: (_context, { shown }, { values }) => secretsOfMove(addressesIn(shown), addressesIn(values)).length > 0,
    check(_context, { values }, secrets, found) {
      if (!found) return;
      const moved = secretsOfMove(addressesIn(found.shown), addressesIn(values));
      const kept = moved.find((name) => found.secrets[name]?.set === true && secrets[name] === undefined);
      if (kept !== undefined) throw invalidRequest(refusal('target-secret', kept));
    },
  },
  webhooks: {
    makeSecret: makeWebhookSecret,
    // without one the service would make a secret that no one sees
    check(_context, _wanted, { secret }, found) {
      if (!found && !secret) throw invalidRequest(refusal('missing', 'secret'));
    },
  },
};
/** The order in which a file is applied, where a rule and not a member (`refers`) names another noun; all others come last. */
const first = ['attributes', 'scopes', 'connections', 'groups', 'scim_sources', 'resources', 'clients'];
const placeOf = ({ section }: FileNoun) => (first.includes(section) ? first.indexOf(section) : first.length);

/** A sign-up link is a secret that only its creation shows: a file could not hand it over, and would make another one at each place. */
const byHand: readonly Entity[] = [signUpLinks];

function nounOf(of: Entity): FileNoun[] {
  // what lives within another noun stands in its entry
  const acts = of.within || byHand.includes(of) ? undefined : actsOf(of, operations);
  return acts ? [entityNoun(of, acts, more[of.table])] : [];
}

interface Nouns {
  /** The number of operations from which they were made. */
  count: number;
  all: readonly FileNoun[];
  byOperation: ReadonlyMap<object, FileNoun>;
}
let made: Nouns | undefined;

/** Each request of an administrator asks for them, so they are made once for each list of operations. */
function nouns(): Nouns {
  if (made?.count !== operations.length) {
    const entities = new Set(operations.flatMap(({ of }) => of ?? []));
    const all = [...[...entities].flatMap(nounOf), ...writtenOut].sort((a, b) => placeOf(a) - placeOf(b));
    const pairs = all.flatMap((noun) => operationsOf(noun).map((operation) => [operation, noun] as const));
    made = { count: operations.length, all, byOperation: new Map(pairs) };
  }
  return made;
}
const operationsOf = ({ on: { shows, change, others } }: FileNoun): object[] => [...shows, change, ...others];

/** In the order in which a file is applied: each comes after those that it names. */
export const fileNouns = (): readonly FileNoun[] => nouns().all;

/** The noun whose objects an operation shows, changes or deletes. */
export const nounOfOperation = (operation: object): FileNoun | undefined => nouns().byOperation.get(operation);
