// Lets a form act once: of the requests that a double click sends, one acts, and the others answer with what it made.
import { setTimeout } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SecretBox } from '../crypto/secret-box.ts';
import { associatedDataOf } from '../repositories/keys/sealed-values.ts';
import type { Store } from '../repositories/store.ts';
import { singleValued } from '../server/parameters.ts';
import type { BrowserSessions } from './session.ts';

/** Milliseconds between two looks for the outcome of a request that is still at work. */
const lookEvery = 50;

/** Nothing came of the form, which may be sent again. */
export interface Refused {
  refused: () => FastifyReply | Promise<FastifyReply>;
}

export type FormOutcomes = ReturnType<typeof createFormOutcomes>;

interface FormOutcomesOptions {
  store: Pick<Store, 'formOutcomes'>;
  secretBox: SecretBox;
  sessions: Pick<BrowserSessions, 'formHash'>;
}

export function createFormOutcomes({ store, secretBox, sessions }: FormOutcomesOptions) {
  const { formOutcomes } = store;
  const dataOf = (id: string) => associatedDataOf('form_outcomes.sealed_encrypted', id);

  /** The form with all that it sends, in this browser: its token alone is the same for every form of a session to an address. */
  function idOf(request: FastifyRequest): string | undefined {
    const fields = Object.entries(singleValued(request.body)).sort(([a], [b]) => (a < b ? -1 : 1));
    return sessions.formHash(request, JSON.stringify([request.url, fields]))?.toString('hex');
  }

  return {
    /** Whether a request with the same form acts, or has acted within some seconds. */
    async isRepeated(request: FastifyRequest): Promise<boolean> {
      const id = idOf(request);
      return id !== undefined && (await formOutcomes.find(id)) !== undefined;
    },
    /**
     * Runs `act` in one of the requests that send the same form within some seconds. The others wait for it.
     * @param act returns what the answer needs, as JSON has it; it sends nothing itself
     * @param mayAct false for a form that can only be the second one of a double click, or a stranger's, which writes nothing
     * @returns what was made, and whether another request made it
     */
    async once<T extends object>(
      request: FastifyRequest,
      act: () => Promise<T | Refused>,
      mayAct = true,
    ): Promise<Refused | { made: T; again: boolean }> {
      const id = idOf(request);
      if (id === undefined) return resultOf(await act());
      // ends at the latest when the claim of a request that has failed expires
      while (!(mayAct && (await formOutcomes.claim(id)))) {
        const other = await formOutcomes.find(id);
        if (!other && !mayAct) return resultOf(await act());
        const sealed = other?.sealed;
        if (sealed) return { made: JSON.parse(secretBox.open(sealed, dataOf(id)).toString()) as T, again: true };
        await setTimeout(lookEvery);
      }
      let result: T | Refused | undefined;
      try {
        result = await act();
      } finally {
        if (result && !isRefused(result))
          await formOutcomes.keep(id, secretBox.seal(JSON.stringify(result), dataOf(id)));
        else await formOutcomes.release(id);
      }
      return resultOf(result);
    },
  };
}

const isRefused = (result: object): result is Refused => 'refused' in result;

const resultOf = <T extends object>(result: T | Refused): Refused | { made: T; again: boolean } =>
  isRefused(result) ? result : { made: result, again: false };
