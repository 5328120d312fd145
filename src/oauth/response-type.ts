// Lists response types and modes, and what follows from them (OAuth 2.0 Multiple Response Types 1.0, OpenID Connect Core 3).

/** Every supported response type, with its values in sorted order. */
export const responseTypes = [
  'code',
  'id_token',
  'id_token token',
  'code id_token',
  'code token',
  'code id_token token',
  'none',
] as const;
export type ResponseType = (typeof responseTypes)[number];

/** How the browser takes a response to the client. */
const deliveries = ['query', 'fragment', 'form_post'] as const;
export type Delivery = (typeof deliveries)[number];

/** Every value of response_mode: each delivery with plain parameters and with one JWT, and `jwt` for a JWT by the default delivery (JARM 2.3). */
export const responseModes: readonly string[] = [...deliveries, 'jwt', ...deliveries.map((mode) => `${mode}.jwt`)];

/** Parses a response_mode; returns undefined for an unsupported one. Without `delivery`, that of the response type is used. */
export function parseResponseMode(mode: string): { delivery: Delivery | undefined; jwt: boolean } | undefined {
  if (!responseModes.includes(mode)) return undefined;
  return { delivery: deliveries.find((known) => known === mode.split('.')[0]), jwt: mode.endsWith('jwt') };
}

/** Parses a space-separated list in any order; returns undefined for an unsupported type. */
export function parseResponseType(text: string): ResponseType | undefined {
  if (text === 'code') return text;
  const sorted = text.split(' ').filter(Boolean).sort().join(' ');
  return responseTypes.find((type) => type === sorted);
}

/** Returns which values the authorization response holds. */
export function parts(type: ResponseType): { code: boolean; idToken: boolean; token: boolean } {
  const values = type.split(' ');
  return { code: values.includes('code'), idToken: values.includes('id_token'), token: values.includes('token') };
}

/** `fragment` for a response with tokens, else `query` (OAuth 2.0 Multiple Response Types 1.0, 5). */
export function defaultDelivery(type: ResponseType): Delivery {
  const { idToken, token } = parts(type);
  return idToken || token ? 'fragment' : 'query';
}

/** Returns the grant types that a client with these response types must register (OpenID Connect Registration 2). */
export function neededGrantTypes(types: readonly ResponseType[]): ('authorization_code' | 'implicit')[] {
  const needed = types.map(parts);
  return [
    ...(needed.some(({ code }) => code) ? (['authorization_code'] as const) : []),
    ...(needed.some(({ idToken, token }) => idToken || token) ? (['implicit'] as const) : []),
  ];
}
