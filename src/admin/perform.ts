// Runs an operation for a form of a page, which shows why the operation refuses.
import { allRefusals, type Refusal } from '../oauth/refusals.ts';
import { OAuthError } from '../oauth/errors.ts';
import { checkInput, type Operation, type OperationCall, type OperationContext } from './operations/operation.ts';
import { run } from './operations/run.ts';

/**
 * @param call its input is what the administrator typed; the operation's schema checks it
 * @throws an error that is no refusal with a code
 */
export async function perform<P, I, R>(
  operation: Operation<P, I, R>,
  context: OperationContext,
  call: OperationCall<P, I>,
): Promise<{ done: R } | { refused: Refusal }> {
  const checked = checkInput(operation, call.input as Record<string, unknown>, context.config);
  if (checked.error) return { refused: allRefusals(checked.error, 'the form') };
  try {
    return { done: await run(operation, context, { ...call, input: checked.input as I }) };
  } catch (error) {
    const { refusal } = error instanceof OAuthError ? error : {};
    if (!refusal) throw error;
    return { refused: refusal };
  }
}
