// Changes the appearance of the product, a part of administration.ts.
import { isDeepStrictEqual } from 'node:util';
import type { Appearance } from '../../config/appearance-types.ts';
import type { Actor } from '../../repositories/audit/actor.ts';
import type { Store } from '../../repositories/store.ts';

/** The parts to change; null removes one. */
export type AppearanceChange = { [Part in keyof Appearance]?: Appearance[Part] | null };

/** The names of the parts in the audit trail, and in the admin routes. */
export const appearanceMembers = {
  productName: 'product_name',
  accentColor: 'accent_color',
  supportUrl: 'support_url',
  logo: 'logo',
  logoDark: 'logo_dark',
  favicon: 'favicon',
} as const satisfies Record<keyof Appearance, string>;

const parts = Object.keys(appearanceMembers) as (keyof Appearance)[];

export const appearanceChanges = (store: Store) => ({
  changeAppearance: (by: Actor, change: AppearanceChange): Promise<void> =>
    store.transaction(async ({ appearance, auditEvents }) => {
      const before = await appearance.lock();
      const after = { ...before };
      for (const part of parts)
        if (change[part] !== undefined) Object.assign(after, { [part]: change[part] ?? undefined });
      const members = parts.filter((part) => !isDeepStrictEqual(before[part], after[part]));
      if (members.length === 0) return;
      await appearance.write(after);
      const { productName, accentColor, supportUrl } = after;
      const texts = { product_name: productName, accent_color: accentColor, support_url: supportUrl };
      const detail = { ...texts, members: members.map((part) => appearanceMembers[part]) };
      await auditEvents.insert({ ...by, type: 'appearance.changed', outcome: 'success', detail });
    }),
});
