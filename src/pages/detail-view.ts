// Prepares what pages show of an authorization detail: the sentence of its type with the values, and every member in full (security R142).
import type { Detail } from '../oauth/authorization-details.ts';
import { membersOf, valuesOf } from '../rules/details/consent-text.ts';
import type { Schema } from '../rules/details/schema.ts';
import type { DetailView } from './views/parts.ts';

/** What was allowed before, as it was then. A type that does not exist any more has no sentence. */
export function allowedDetailView(
  detail: Detail,
  types: readonly { type: string; text: Record<string, string>; schema: Schema }[],
): DetailView {
  const type = types.find((known) => known.type === detail.type);
  const members = [{ path: 'type', value: detail.type }, ...membersOf(detail)];
  return type ? { ...detailView({ detail, type }), members } : { type: detail.type, text: {}, values: {}, members };
}

/** @param keep the name of the field by which the user takes it out */
export const detailView = (
  { detail, type }: { detail: Detail; type: { type: string; text: Record<string, string>; schema: Schema } },
  keep?: string,
): DetailView => ({
  type: type.type,
  text: type.text,
  values: valuesOf(type.schema, detail),
  members: membersOf(detail),
  ...(keep !== undefined && { keep }),
});
