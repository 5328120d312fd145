// Prepares a refusal for the page of the form that was refused.
import { namesItsSubject, type Refusal } from '../../oauth/refusals.ts';
import type { RefusedView } from '../../pages/views/parts.ts';

/** @param fields the names of the form's fields: each is the name of a member, or a part of its path */
export function refusedView({ code, member, params, others = [] }: Refusal, fields: readonly string[]): RefusedView {
  const field = member.split('.').find((part) => fields.includes(part));
  return {
    ...(field !== undefined && { field }),
    member,
    code,
    params,
    whole: namesItsSubject(code),
    ...(others.length > 0 && { others: others.map((other) => refusedView(other, fields)) }),
  };
}
