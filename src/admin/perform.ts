// Runs an operation for a form of a page, and names the error that the form shows when the operation refuses.
import { firstRefusal } from '../oauth/refusals.ts';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { checkInput, type Operation, type OperationCall, type OperationContext } from './operations/operation.ts';

/**
 * @param call its input is what the administrator typed; the operation's schema checks it
 * @returns the result, or the operation's name for the refusal
 * @throws an error for which the operation has no name
 */
export async function perform<P, I, R, F extends Record<string, string>>(
  operation: Omit<Operation<P, I, R>, 'refusals'> & { refusals: F },
  context: OperationContext,
  call: OperationCall<P, I>,
): Promise<{ done: R } | { refused: F[keyof F] }> {
  const { refusals } = operation;
  const known = (name: string) => (Object.hasOwn(refusals, name) ? { refused: refusals[name as keyof F] } : undefined);
  const checked = checkInput(operation, call.input as Record<string, unknown>, context.config);
  if (checked.error) {
    const refused = known(String(checked.error.issues[0]!.path[0]));
    if (!refused) throw invalidRequest(firstRefusal(checked.error, 'the form'));
    return refused;
  }
  try {
    return { done: await operation.handler(context, { ...call, input: checked.input as I }) };
  } catch (error) {
    const refused = error instanceof OAuthError && ((error.refusal && known(error.refusal.code)) ?? known(error.code));
    if (!refused) throw error;
    return refused;
  }
}
