// Response types and modes (OAuth 2.0 Multiple Response Types 1.0, OpenID Connect Core 3).

/** Every response type, its values in their canonical order. */
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

export const responseModes = ['query', 'fragment', 'form_post'] as const;
export type ResponseMode = (typeof responseModes)[number];

/** The response type that a space-separated list means, in whatever order; undefined for none of ours. */
export function parseResponseType(text: string): ResponseType | undefined {
  if (text === 'code') return text;
  const sorted = text.split(' ').filter(Boolean).sort().join(' ');
  return responseTypes.find((type) => type === sorted);
}

/** What a response type brings to the client by the browser. */
export function parts(type: ResponseType): { code: boolean; idToken: boolean; token: boolean } {
  const values = type.split(' ');
  return { code: values.includes('code'), idToken: values.includes('id_token'), token: values.includes('token') };
}

/** query where nothing secret stands in the response, else fragment. */
export function defaultResponseMode(type: ResponseType): ResponseMode {
  const { idToken, token } = parts(type);
  return idToken || token ? 'fragment' : 'query';
}

/** The grant types that a client with these response types needs (OpenID Connect Registration 2). */
export function neededGrantTypes(types: readonly ResponseType[]): ('authorization_code' | 'implicit')[] {
  const needed = types.map(parts);
  return [
    ...(needed.some(({ code }) => code) ? (['authorization_code'] as const) : []),
    ...(needed.some(({ idToken, token }) => idToken || token) ? (['implicit'] as const) : []),
  ];
}
