// Says what the service takes over of a user's SCIM resource: claims, attributes, and an address if a connection has authority over it (federation 8).
import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../../entities/connections.ts';
import { type Attribute, attributesOf } from '../../rules/claims/attributes.ts';
import { domainOf, isOfDomains } from '../../rules/connections/mail-domain.ts';
import { invalidValue } from '../../rules/scim/errors.ts';
import { isObject, type Values } from '../../rules/scim/resource.ts';
import { type Attribute as ScimAttribute, enterpriseSchemaId, ownSchemaId } from '../../rules/scim/schemas.ts';
import { claimRules, email } from '../../rules/users/administration.ts';
import { checkValues } from '../users/attributes.ts';

/** What the service stores of a resource. */
export interface Projection {
  /** Claims and attributes, by their names here. */
  claims: Values;
  /** An address over which the connection of the source has authority. */
  address: string | undefined;
}

const objectIn = (value: unknown): Values => (isObject(value) ? value : {});

/** The primary value, else the one for work, else the first. */
function chosen(values: unknown): Values {
  const all = Array.isArray(values) ? (values as Values[]) : [];
  const isWork = ({ type }: Values) => typeof type === 'string' && type.toLowerCase() === 'work';
  return all.find((one) => one['primary'] === true) ?? all.find(isWork) ?? all[0] ?? {};
}

function claimsOf(resource: Values): Values {
  const name = objectIn(resource['name']);
  const address = chosen(resource['addresses']);
  const parts = {
    formatted: address['formatted'],
    street_address: address['streetAddress'],
    locality: address['locality'],
    region: address['region'],
    postal_code: address['postalCode'],
    country: address['country'],
  };
  const known = Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined));
  const said: Partial<Record<keyof typeof claimRules, unknown>> = {
    name: resource['displayName'] ?? name['formatted'],
    given_name: name['givenName'],
    family_name: name['familyName'],
    middle_name: name['middleName'],
    nickname: resource['nickName'],
    profile: resource['profileUrl'],
    picture: chosen(resource['photos'])['value'],
    zoneinfo: resource['timezone'],
    locale: resource['locale'] ?? resource['preferredLanguage'],
    phone_number: chosen(resource['phoneNumbers'])['value'],
    ...(Object.keys(known).length > 0 && { address: known }),
  };
  // a value that no claim can have stays with the source
  return Object.fromEntries(
    Object.entries(said).filter(
      ([claim, value]) => value !== undefined && claimRules[claim as keyof typeof claimRules].safeParse(value).success,
    ),
  );
}

/** The attributes that administrators defined here, of our extension and of the enterprise one. @throws ScimError invalidValue */
function attributeValues(resource: Values, definitions: readonly Attribute[]): Values {
  const enterprise = objectIn(resource[enterpriseSchemaId]);
  const manager = objectIn(enterprise['manager']);
  const known = {
    title: resource['title'],
    employee_number: enterprise['employeeNumber'],
    cost_center: enterprise['costCenter'],
    division: enterprise['division'],
    department: enterprise['department'],
    manager: manager['displayName'] ?? manager['value'],
  };
  const declared = (name: string) => definitions.some((one) => one.name === name);
  const taken = Object.fromEntries(
    Object.entries(known).filter(([name, value]) => value !== undefined && declared(name)),
  );
  const { values } = checkValues(definitions, taken);
  const own = checkValues(definitions, objectIn(resource[ownSchemaId]));
  const [first] = Object.keys(own.faults);
  if (first !== undefined) throw invalidValue(`the attribute ${first} cannot have this value`);
  return { ...values, ...own.values };
}

/** The address, if the connection has authority over its domain. */
function addressOf(resource: Values, connection: Connection | undefined): string | undefined {
  const parsed = email.safeParse(chosen(resource['emails'])['value']);
  const domain = parsed.success ? domainOf(parsed.data) : undefined;
  if (!connection || connection.status === 'disabled' || domain === undefined) return undefined;
  return isOfDomains(domain, connection.authoritativeDomains, connection.subdomains) ? parsed.data : undefined;
}

/** @throws ScimError invalidValue */
export const projectionOf = (
  resource: Values,
  definitions: readonly Attribute[],
  connection: Connection | undefined,
): Projection => ({
  claims: { ...claimsOf(resource), ...attributeValues(resource, definitions) },
  address: addressOf(resource, connection),
});

/** What differs in claims: null removes one. */
export function claimChanges(before: Values, after: Values): Values {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => !isDeepStrictEqual(before[name], after[name]))
      .map((name) => [name, after[name] ?? null]),
  );
}

/** The unique attributes among changed claims. */
export const uniqueIn = (claims: Values, definitions: readonly Attribute[]): string[] =>
  definitions.filter(({ name, unique }) => unique && Object.hasOwn(attributesOf(claims), name)).map(({ name }) => name);

/** The attributes of our extension, for /Schemas. */
export const ownAttributes = (definitions: readonly Attribute[]): ScimAttribute[] =>
  definitions.map(({ name, type, label }) => ({
    name,
    says: label['en'] ?? name,
    ...(type === 'boolean' && { type: 'boolean' }),
    ...(type === 'string_list' && { multiValued: true }),
  }));
