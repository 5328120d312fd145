// Reads the members of a SAML application from its metadata, which an administrator gives as a text or as an address.
import { z } from 'zod';
import { invalidRequest, type OAuthError } from '../../oauth/errors.ts';
import { refusal, rule } from '../../oauth/refusals.ts';
import { FetchRefused } from '../../outbound/guarded-fetch.ts';
import { samlPresetNames, type SamlPreset, type SamlPresetName, samlPresets } from '../../rules/saml/presets.ts';
import { bindings } from '../../saml/names.ts';
import { readMetadata, type ServiceProviderRole } from '../../saml/metadata.ts';
import { SamlRefused } from '../../saml/refused.ts';
import { type OperationContext, pageOperation } from './operation.ts';

const most = 262_144; // bytes

/** How the metadata of a new application are given. They are read once, and not stored. */
export const metadataInput = {
  saml_preset: z
    .enum(samlPresetNames, rule('one-of', { values: samlPresetNames.join(', ') }))
    .optional()
    .describe('What a well-known SAML application expects: NameID, attributes, and who begins the sign-in.'),
  saml_metadata: z
    .string(rule('string'))
    .max(most)
    .optional()
    .describe('The metadata of the SAML application, in XML; a command reads them from a file.'),
  saml_metadata_uri: z
    .string(rule('string'))
    .max(2000)
    .refine((uri) => URL.canParse(uri) && new URL(uri).protocol === 'https:', rule('https.start'))
    .optional()
    .describe('The https address of the metadata of the SAML application; they are read once.'),
};

export interface MetadataInput {
  saml_preset?: SamlPresetName | undefined;
  saml_metadata?: string | undefined;
  saml_metadata_uri?: string | undefined;
}

/** What metadata say of an application, by the names of the members. */
export interface DescribedApplication extends Partial<SamlPreset> {
  slo_uri?: string;
  certificates?: string[];
  require_signed_requests?: true;
}

/** @throws OAuthError invalid_request */
export async function describedBySaml(
  { fetchDocument }: Pick<OperationContext, 'fetchDocument'>,
  { saml_preset: preset, saml_metadata: given, saml_metadata_uri: uri }: MetadataInput,
): Promise<DescribedApplication> {
  const member = given === undefined ? 'saml_metadata_uri' : 'saml_metadata';
  const expected: SamlPreset | undefined = preset && samlPresets[preset];
  if (given === undefined && uri === undefined) return { ...expected };
  try {
    const { entityId, serviceProvider } = readMetadata(
      given ?? (await fetchDocument(uri!, undefined, { maxBytes: most })),
    );
    if (!serviceProvider) throw refused(member);
    return { ...expected, ...describedBy(entityId, serviceProvider) };
  } catch (error) {
    if (error instanceof SamlRefused) throw refused(member);
    if (error instanceof FetchRefused) throw invalidRequest(refusal('saml.metadata-uri', member));
    throw error;
  }
}

const refused = (member: string): OAuthError => invalidRequest(refusal('saml.metadata', member, { member }));

function describedBy(
  entityId: string,
  { consumers, logout, certificates, signsRequests }: ServiceProviderRole,
): DescribedApplication {
  // the default first, then by their index: a request names an address by its position
  const posted = consumers
    .filter(({ binding }) => binding === bindings.post)
    .sort((a, b) => Number(b.isDefault ?? false) - Number(a.isDefault ?? false) || (a.index ?? 0) - (b.index ?? 0));
  const signed = certificates.map(({ pem }) => pem);
  // only signed logout requests count
  const sloUri = logout.find(({ binding }) => binding === bindings.redirect || binding === bindings.post)?.location;
  return {
    entity_id: entityId,
    acs_uris: [...new Set(posted.map(({ location }) => location))],
    ...(signed.length > 0 && { certificates: signed }),
    ...(signed.length > 0 && sloUri !== undefined && { slo_uri: sloUri }),
    ...(signed.length > 0 && signsRequests && { require_signed_requests: true as const }),
  };
}

/** For the form of a new application. */
export const describeApplication = pageOperation('clients', 'change', describedBySaml);
