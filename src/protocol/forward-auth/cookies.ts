// Names and writes the cookies of protected sites. Their prefix binds them to one host, without a domain and over https only (federation FR44).

/** The session of a site. */
export const siteCookie = '__Host-gatehouse';
/** The browser that began a sign-in: an answer that another one asked for is refused. */
export const signInCookie = '__Host-gatehouse-sign-in';

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax';

export const setCookie = (name: string, value: string): string => `${name}=${value}; ${attributes}`;
export const clearCookie = (name: string): string => `${name}=; Max-Age=0; ${attributes}`;
