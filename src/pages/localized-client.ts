// Shows a client in the language of a page, as far as it registered its name and its addresses in that language (RFC 7591 2.2).
import { lookup } from './language.ts';
import type { ClientView } from './views/index.ts';

/** The client as a page in this language shows it. What has no such language stays. */
export function inLanguage(client: ClientView, locale: string): ClientView {
  const { localized, ...rest } = client;
  if (localized === undefined) return client;
  const tag = lookup(Object.keys(localized), locale);
  if (tag === undefined) return rest;
  const {
    client_name: name,
    client_uri: homeUri,
    logo_uri: logoUri,
    policy_uri: policyUri,
    tos_uri: tosUri,
  } = localized[tag]!;
  // the name of a document is its host, and an uploaded logo is the choice of an administrator
  const { document, logo } = rest;
  return {
    ...rest,
    ...(name !== undefined && (document ? { document: { ...document, claimedName: name } } : { name })),
    ...(homeUri !== undefined && { homeUri }),
    ...(logoUri !== undefined && logo === undefined && { logoUri }),
    ...(policyUri !== undefined && { policyUri }),
    ...(tosUri !== undefined && { tosUri }),
  };
}

/** The data of a page with each client in its language. */
export function clientsInLanguage<T extends object>(data: T, locale: string): T {
  const { client, requests } = data as { client?: ClientView; requests?: readonly { client?: ClientView }[] };
  const isOne = client?.localized !== undefined;
  const isIn = Array.isArray(requests) && requests.some((one) => one.client?.localized !== undefined);
  if (!isOne && !isIn) return data;
  return {
    ...data,
    ...(isOne && { client: inLanguage(client, locale) }),
    ...(isIn && {
      requests: requests.map((one) => (one.client ? { ...one, client: inLanguage(one.client, locale) } : one)),
    }),
  };
}
