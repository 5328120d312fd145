// Runs an operation for a form of a page, and names the error that the form shows when the operation refuses.
import { firstRefusal } from '../oauth/refusals.ts';
import { invalidRequest, OAuthError } from '../oauth/errors.ts';
import { checkInput, type Operation, type OperationCall, type OperationContext } from './operations/operation.ts';

/**
 * @param call its input is what the administrator typed; the operation's schema checks it
 * @returns the result, or the operation's name for the refusal, with the member that it is about
 * @throws an error for which the operation has no name
 */
export async function perform<P, I, R, F extends Record<string, string>>(
  operation: Omit<Operation<P, I, R>, 'refusals'> & { refusals: F },
  context: OperationContext,
  call: OperationCall<P, I>,
): Promise<{ done: R } | { refused: F[keyof F]; member?: string | undefined }> {
  const { refusals } = operation;
  const known = (name: string, member: string | undefined) =>
    Object.hasOwn(refusals, name) ? { refused: refusals[name as keyof F], member } : undefined;
  const checked = checkInput(operation, call.input as Record<string, unknown>, context.config);
  if (checked.error) {
    const { path } = checked.error.issues[0]!;
    const refused = known(String(path[0]), path.join('.'));
    if (!refused) throw invalidRequest(firstRefusal(checked.error, 'the form'));
    return refused;
  }
  try {
    return { done: await operation.handler(context, { ...call, input: checked.input as I }) };
  } catch (error) {
    const { refusal, code } = error instanceof OAuthError ? error : {};
    const member = refusal?.member;
    const refused = (refusal && known(refusal.code, member)) ?? (code && known(code, member));
    if (!refused) throw error;
    return refused;
  }
}
