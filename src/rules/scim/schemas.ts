// Declares the attributes of users and groups (RFC 7643 4): what /Schemas says, and what bodies, paths and filters may name.

export interface Attribute {
  name: string;
  says: string;
  type?: 'string' | 'boolean' | 'complex' | 'reference' | 'dateTime';
  multiValued?: true;
  required?: true;
  caseExact?: true;
  mutability?: 'readOnly' | 'immutable';
  returned?: 'always' | 'default';
  uniqueness?: 'server';
  canonicalValues?: readonly string[];
  referenceTypes?: readonly string[];
  subAttributes?: readonly Attribute[];
}

export interface Schema {
  id: string;
  name: string;
  says: string;
  attributes: readonly Attribute[];
}

export const userSchemaId = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchemaId = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const enterpriseSchemaId = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
/** The attributes that administrators defined here (federation 7). */
export const ownSchemaId = 'urn:gatehouse:scim:1.0:User';

const text = (name: string, says: string): Attribute => ({ name, says });

/** A list of values, each with a type and at most one of them primary (RFC 7643 2.4). */
const values = (name: string, says: string, value: Attribute, types: readonly string[]): Attribute => ({
  name,
  says,
  type: 'complex',
  multiValued: true,
  subAttributes: [
    value,
    text('display', 'The value as it is shown.'),
    { ...text('type', 'What the value is for.'), canonicalValues: types },
    { ...text('primary', 'Whether it is the preferred one.'), type: 'boolean' },
  ],
});

const name: Attribute = {
  name: 'name',
  says: 'The parts of the name.',
  type: 'complex',
  subAttributes: [
    text('formatted', 'The full name.'),
    text('familyName', 'The family name.'),
    text('givenName', 'The given name.'),
    text('middleName', 'The middle names.'),
    text('honorificPrefix', 'What stands before the name.'),
    text('honorificSuffix', 'What stands after the name.'),
  ],
};
const addresses: Attribute = {
  name: 'addresses',
  says: 'Postal addresses.',
  type: 'complex',
  multiValued: true,
  subAttributes: [
    text('formatted', 'The full address.'),
    text('streetAddress', 'The street.'),
    text('locality', 'The city.'),
    text('region', 'The region.'),
    text('postalCode', 'The postal code.'),
    text('country', 'The country.'),
    { ...text('type', 'What the address is for.'), canonicalValues: ['work', 'home', 'other'] },
    { ...text('primary', 'Whether it is the preferred one.'), type: 'boolean' },
  ],
};
const link = (name: string, says: string, referenceTypes: readonly string[]): Attribute => ({
  name,
  says,
  type: 'reference',
  referenceTypes,
});

export const userSchema: Schema = {
  id: userSchemaId,
  name: 'User',
  says: 'A user.',
  attributes: [
    {
      ...text('userName', 'The name by which the user signs in. No two users have the same.'),
      required: true,
      uniqueness: 'server',
    },
    name,
    text('displayName', 'The name that is shown.'),
    text('nickName', 'The nickname.'),
    link('profileUrl', 'A page about the user.', ['external']),
    text('title', 'The title.'),
    text('preferredLanguage', 'The preferred language.'),
    text('locale', 'The locale.'),
    text('timezone', 'The time zone.'),
    {
      ...text('active', 'Whether the user can sign in. Without it a user is active.'),
      type: 'boolean',
      required: true,
    },
    values('emails', 'Email addresses.', text('value', 'The address.'), ['work', 'home', 'other']),
    values('phoneNumbers', 'Telephone numbers.', text('value', 'The number.'), [
      'work',
      'home',
      'mobile',
      'fax',
      'pager',
      'other',
    ]),
    addresses,
    values('photos', 'Pictures.', link('value', 'The address of the picture.', ['external']), ['photo', 'thumbnail']),
    {
      name: 'groups',
      says: 'The groups of the source that the user is in. Groups change their members.',
      type: 'complex',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: [
        { ...text('value', 'The id of the group.'), mutability: 'readOnly' },
        { ...link('$ref', 'The address of the group.', ['Group']), mutability: 'readOnly' },
        { ...text('display', 'The name of the group.'), mutability: 'readOnly' },
      ],
    },
  ],
};

export const enterpriseSchema: Schema = {
  id: enterpriseSchemaId,
  name: 'EnterpriseUser',
  says: 'What an enterprise knows of a user.',
  attributes: [
    text('employeeNumber', 'The number in the enterprise.'),
    text('costCenter', 'The cost center.'),
    text('organization', 'The organization.'),
    text('division', 'The division.'),
    text('department', 'The department.'),
    {
      name: 'manager',
      says: 'The manager.',
      type: 'complex',
      subAttributes: [
        text('value', 'The id of the manager.'),
        link('$ref', 'The address of the manager.', ['User']),
        text('displayName', 'The name of the manager.'),
      ],
    },
  ],
};

export const groupSchema: Schema = {
  id: groupSchemaId,
  name: 'Group',
  says: 'A group of users.',
  attributes: [
    { ...text('displayName', 'The name of the group, without the prefix of the source.'), required: true },
    {
      name: 'members',
      says: 'The members: users of the source.',
      type: 'complex',
      multiValued: true,
      subAttributes: [
        { ...text('value', 'The id of the user.'), mutability: 'immutable' },
        { ...link('$ref', 'The address of the user.', ['User']), mutability: 'immutable' },
        { ...text('type', 'User.'), mutability: 'immutable', canonicalValues: ['User'] },
      ],
    },
  ],
};

/** The attributes of every resource (RFC 7643 3.1). */
export const commonAttributes: readonly Attribute[] = [
  { ...text('id', 'The id here.'), caseExact: true, mutability: 'readOnly', returned: 'always', uniqueness: 'server' },
  { ...text('externalId', 'The id at the source.'), caseExact: true },
  {
    name: 'meta',
    says: 'About the resource.',
    type: 'complex',
    mutability: 'readOnly',
    subAttributes: [
      { ...text('resourceType', 'The kind.'), caseExact: true },
      { ...text('created', 'When it was made.'), type: 'dateTime' },
      { ...text('lastModified', 'When it was last changed.'), type: 'dateTime' },
      link('location', 'Its address.', ['uri']),
      { ...text('version', 'Its version.'), caseExact: true },
    ],
  },
];

/** What is taken and ignored: a source sets no password, role or key (federation FR35). */
export const ignoredAttributes = [
  'password',
  'roles',
  'entitlements',
  'x509certificates',
  'ims',
  'usertype',
  'schemas',
];

export interface ResourceType {
  name: 'User' | 'Group';
  endpoint: string;
  says: string;
  schema: Schema;
  extensions: readonly Schema[];
}

/** @param own the attributes that administrators defined here */
export const userType = (own: readonly Attribute[]): ResourceType => ({
  name: 'User',
  endpoint: '/Users',
  says: 'User accounts',
  schema: userSchema,
  extensions: [enterpriseSchema, ...(own.length > 0 ? [ownSchema(own)] : [])],
});
export const groupType: ResourceType = {
  name: 'Group',
  endpoint: '/Groups',
  says: 'Groups of users',
  schema: groupSchema,
  extensions: [],
};

const ownSchema = (attributes: readonly Attribute[]): Schema => ({
  id: ownSchemaId,
  name: 'GatehouseUser',
  says: 'The attributes of users that are defined here.',
  attributes,
});

/** An attribute as /Schemas says it (RFC 7643 7). */
function attributeView(attribute: Attribute): Record<string, unknown> {
  const { name, says, type = 'string', multiValued, required, caseExact, mutability, returned, uniqueness } = attribute;
  const { canonicalValues, referenceTypes, subAttributes } = attribute;
  return {
    name,
    type,
    multiValued: multiValued ?? false,
    description: says,
    required: required ?? false,
    ...(canonicalValues && { canonicalValues }),
    ...(type !== 'boolean' && type !== 'complex' && { caseExact: caseExact ?? type === 'reference' }),
    mutability: mutability ?? 'readWrite',
    returned: returned ?? 'default',
    ...(type !== 'boolean' && { uniqueness: uniqueness ?? 'none' }),
    ...(referenceTypes && { referenceTypes }),
    ...(subAttributes && { subAttributes: subAttributes.map(attributeView) }),
  };
}

export const schemaView = ({ id, name, says, attributes }: Schema, base: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
  id,
  name,
  description: says,
  attributes: attributes.map(attributeView),
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
});

export const resourceTypeView = ({ name, endpoint, says, schema, extensions }: ResourceType, base: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
  id: name,
  name,
  endpoint,
  description: says,
  schema: schema.id,
  schemaExtensions: extensions.map(({ id }) => ({ schema: id, required: false })),
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
});
