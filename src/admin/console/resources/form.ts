// Reads and writes the form of a resource; a textarea has its scopes, one on each line.
import { resourceBindings } from '../../../oauth/binding.ts';
import type { TypedResource } from '../../../pages/views/console-resources.ts';
import type { Resource, ResourceScopes } from '../../../entities/resources.ts';

/** A line: the value, a language in brackets for another one than English, and the description. */
const line = /^(\S+)(?:\s+\[([^\]]*)\])?(?:\s+(.*))?$/;

export const emptyForm: TypedResource = {
  ...{
    resource: '',
    name: '',
    client_id: '',
    scopes: '',
    clients: 'listed',
    access_token_format: 'opaque',
    binding: 'none',
    access_token_lifetime: '',
    token_claims: '',
    public: '',
  },
};

export const formOf = (resource: Resource): TypedResource => ({
  resource: resource.resource,
  name: resource.name,
  client_id: resource.clientId ?? '',
  scopes: Object.entries(resource.scopes)
    .flatMap(([value, description]) => {
      const texts = Object.entries(description);
      return texts.length === 0
        ? [value]
        : texts.map(([language, text]) => (language === 'en' ? `${value} ${text}` : `${value} [${language}] ${text}`));
    })
    .join('\n'),
  clients: resource.clients,
  access_token_format: resource.accessTokenFormat,
  binding: resource.binding,
  access_token_lifetime: String(resource.accessTokenLifetime ?? ''),
  token_claims: resource.tokenClaims.join(' '),
  public: resource.public ? 'true' : '',
});

export const typedIn = (body: Readonly<Record<string, string>>): TypedResource => ({
  ...emptyForm,
  ...Object.fromEntries(Object.keys(emptyForm).map((name) => [name, body[name] ?? ''])),
});

/** The input of the operation; its schema checks it. */
export function inputOf(typed: TypedResource): Record<string, unknown> {
  const { access_token_lifetime: lifetime } = typed;
  return {
    name: typed.name,
    client_id: typed.client_id.trim() || null,
    scopes: Object.entries(scopesIn(typed.scopes)).map(([value, description]) => ({ value, description })),
    clients: typed.clients === 'approved' ? 'approved' : 'listed',
    access_token_format: typed.access_token_format === 'jwt' ? 'jwt' : 'opaque',
    binding: resourceBindings.find((each) => each === typed.binding) ?? 'none',
    token_claims: typed.token_claims.split(/\s+/).filter(Boolean),
    public: typed.public === 'true',
    // text that is no number is left to the schema, which refuses it
    access_token_lifetime:
      lifetime.trim() === '' ? null : /^\d{1,9}$/.test(lifetime.trim()) ? Number(lifetime) : lifetime,
  };
}

function scopesIn(text: string): ResourceScopes {
  const scopes = new Map<string, Record<string, string>>();
  for (const each of text.split(/\r?\n/).map((one) => one.trim())) {
    const [, value, language = 'en', description = ''] = line.exec(each) ?? [];
    if (value === undefined) continue;
    const texts = scopes.get(value) ?? {};
    scopes.set(value, description === '' ? texts : { ...texts, [language]: description });
  }
  return Object.fromEntries(scopes);
}
