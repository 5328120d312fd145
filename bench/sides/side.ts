// Defines a measured side: its address, and how each operation is sent to it.
import type { Load } from '../load.ts';
import type { OperationKey } from '../operations.ts';

export interface Side {
  /** The process that performs the operation. */
  pidOf(operation: OperationKey): number;
  loads: Partial<Record<OperationKey, Load>>;
}

export const scope = 'openid profile email';
/** Tokens in the format of the service's, that are stored nowhere. */
export const post = (path: string, authorization: string, form: Record<string, string>) => ({
  method: 'POST' as const,
  path,
  headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(form).toString(),
});

/** Runs the work for each number from 0, a few at a time. */
export async function forEach<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
  return results;
}
