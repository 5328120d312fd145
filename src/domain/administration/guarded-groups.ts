// Names the guarded groups: they give power, or demand a second factor, so only an administrator changes their members.
import type { Config } from '../../config.ts';

/** A connection is let into one by the group's guarded_sources only (federation 3, FR7). */
export const guardedGroups = ({ secondFactor }: Pick<Config, 'secondFactor'>): readonly string[] => secondFactor.groups;
