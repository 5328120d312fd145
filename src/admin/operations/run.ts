// Runs an operation: the one function that does, for the API, commands and the console. It asks for the permission, and for what configuration files keep.
import { refuseKept } from './config/kept.ts';
import { demandPermission, type OperationCall, type OperationContext, type Runnable } from './operation.ts';

/** @throws OAuthError */
export async function run<P, I, R>(
  operation: Runnable<P, I, R>,
  context: OperationContext,
  call: OperationCall<P, I>,
): Promise<R> {
  demandPermission(operation, call.actor);
  await refuseKept(operation, context, call);
  return operation.handler(context, call);
}
