// Defines the refusals of SCIM (RFC 7644 3.12): a status, and for some a scimType.

export type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

export class ScimError extends Error {
  readonly status: number;
  readonly scimType: ScimType | undefined;

  constructor(status: number, detail: string, scimType?: ScimType) {
    super(detail);
    this.status = status;
    this.scimType = scimType;
  }
}

/** A filter names an attribute that this kind of resource does not have. */
export class UnknownAttribute extends ScimError {
  constructor(name: string) {
    super(400, `filters have no attribute ${name.slice(0, 100)}`, 'invalidFilter');
  }
}

const refusing = (scimType: ScimType) => (detail: string) => new ScimError(400, detail, scimType);
export const invalidFilter = refusing('invalidFilter');
export const invalidPath = refusing('invalidPath');
export const invalidSyntax = refusing('invalidSyntax');
export const invalidValue = refusing('invalidValue');
export const mutability = refusing('mutability');
export const noTarget = refusing('noTarget');
export const taken = (detail: string) => new ScimError(409, detail, 'uniqueness');
