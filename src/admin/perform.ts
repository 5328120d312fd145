// Runs an operation for a form of a page, which shows why the operation refuses.
import { allRefusals, type Refusal } from '../oauth/refusals.ts';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { checkInput, type Operation, type OperationCall, type OperationContext, run } from './operations/operation.ts';

/** A refusal, or the operation's name for it if the operation has names for refusals: its forms then have sentences for these. */
export type Refused<F extends Record<string, string>> = [keyof F] extends [never] ? Refusal : F[keyof F];

/**
 * @param call its input is what the administrator typed; the operation's schema checks it
 * @throws an error that is no refusal of a member, and one for which an operation with names has none
 */
export async function perform<P, I, R, F extends Record<string, string>>(
  operation: Omit<Operation<P, I, R>, 'refusals'> & { refusals: F },
  context: OperationContext,
  call: OperationCall<P, I>,
): Promise<{ done: R } | { refused: Refused<F> }> {
  const { refusals } = operation;
  const hasNames = Object.keys(refusals).length > 0;
  const named = (name: string | undefined) =>
    name !== undefined && Object.hasOwn(refusals, name) ? refusals[name] : undefined;
  const checked = checkInput(operation, call.input as Record<string, unknown>, context.config);
  if (checked.error) {
    const refusal = allRefusals(checked.error, 'the form');
    const refused = hasNames ? named(String(checked.error.issues[0]!.path[0])) : refusal;
    if (!refused) throw invalidRequest(refusal);
    return { refused: refused as Refused<F> };
  }
  try {
    return { done: await run(operation, context, { ...call, input: checked.input as I }) };
  } catch (error) {
    const { refusal, code } = error instanceof OAuthError ? error : {};
    const refused = hasNames ? (named(refusal?.code) ?? named(code)) : refusal;
    if (!refused) throw error;
    return { refused: refused as Refused<F> };
  }
}
