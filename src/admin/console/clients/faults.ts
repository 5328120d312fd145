// Finds the faults of the fields of a client's form.
import type { FaultView } from '../../../pages/views/parts.ts';
import { clientMetadataShape } from '../../../oauth/client-metadata.ts';
import { faultOf } from '../../../oauth/refusals.ts';

/** The first fault of each field by its own rule; parseClientMetadata checks the fields together. */
export function faultsOf(metadata: Record<string, unknown>): Record<string, FaultView> {
  const faults: Record<string, FaultView> = {};
  for (const issue of clientMetadataShape.safeParse(metadata).error?.issues ?? [])
    faults[String(issue.path[0])] ??= faultOf(issue);
  return faults;
}
