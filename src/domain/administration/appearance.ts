// Changes the appearance of the product, a part of administration.ts.
import { appearance as members } from '../../entities/appearance.ts';
import { changed, type Input, viewOf } from '../../entities/entity.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import { differing } from '../../repositories/entities.ts';
import type { Store } from '../../repositories/store.ts';

export const appearanceChanges = (store: Store) => ({
  /** @param change members by their names in the API; null removes one */
  changeAppearance: (by: Actor, change: Input): Promise<void> =>
    store.transaction(async ({ appearance, auditEvents }) => {
      const before = await appearance.lock();
      const after = changed({ members }, before, change);
      const names = differing({ members }, before, after);
      if (names.length === 0) return;
      await appearance.write(after);
      const shown = Object.entries(viewOf(members, after));
      // an event has no images
      const texts = shown.filter((one): one is [string, string] => typeof one[1] === 'string');
      const detail = { ...Object.fromEntries(texts), members: names };
      await auditEvents.insert({ ...by, type: 'appearance.changed', outcome: 'success', detail });
    }),
});
