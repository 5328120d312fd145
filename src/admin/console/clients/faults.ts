// Turns a refusal of client metadata into the fault of a form field.
import { type FaultCode, faultCodes, type FieldFault } from '../../../pages/views/console-clients.ts';
import { clientMetadataShape } from '../../../oauth/client-metadata.ts';
import { faultOf, type Refusal } from '../../../oauth/refusals.ts';

/** The fault that a page shows: the code up to its dot. A fault that the form's own controls rule out is only `invalid`. */
export function fieldFault({ code, params }: Pick<Refusal, 'code' | 'params'>): FieldFault {
  const fault = code.split('.', 1)[0]!;
  return isFaultCode(fault) ? { code: fault, ...(params && { values: params }) } : { code: 'invalid' };
}

const isFaultCode = (code: string): code is FaultCode => faultCodes.some((known) => known === code);

/** The name of the refused field. */
export const fieldOf = ({ member }: Refusal): string => member.split('.', 1)[0]!;

/** The first fault of each field by its own rule; parseClientMetadata checks the fields together. */
export function faultsOf(metadata: Record<string, unknown>): Record<string, FieldFault> {
  const faults: Record<string, FieldFault> = {};
  for (const issue of clientMetadataShape.safeParse(metadata).error?.issues ?? [])
    faults[String(issue.path[0])] ??= fieldFault(faultOf(issue));
  return faults;
}
