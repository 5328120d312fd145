// Decides how many events of the audit trail a collector gets at a time: one that is too slow for many gets fewer (federation F114).

export const mostEvents = 200;
/** Portions that must arrive before a number that failed is tried again: until then no events are sent twice. */
const trust = 100;

export interface Portion {
  size: number;
  /** A number that failed, since when a smaller one has arrived. */
  tooMany?: number;
  /** The portions that have arrived since then. */
  arrived: number;
}

export const firstPortion: Portion = { size: mostEvents, arrived: 0 };

export const afterFailure = ({ size }: Portion): Portion => ({
  size: Math.max(1, size >> 1),
  tooMany: size,
  arrived: 0,
});

export function afterSuccess({ size, tooMany = Infinity, arrived }: Portion): Portion {
  const more = Math.min(mostEvents, size * 2);
  // the number did not matter: the collector was away
  const isKnown = size < tooMany && arrived < trust;
  if (isKnown && more >= tooMany) return { size, tooMany, arrived: arrived + 1 };
  return isKnown && tooMany < Infinity ? { size: more, tooMany, arrived } : { size: more, arrived: 0 };
}
