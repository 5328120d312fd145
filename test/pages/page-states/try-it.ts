// Lists states of the pages of "Try it", beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { TryClaim, TryStep } from '../../../src/pages/views/try-it.ts';
import { translation, type View } from './state.ts';

const begin = examples['console-try-it'][1];
const result = examples['console-try-it-result'][1];
const under = (prefix: string) =>
  Object.keys(translation('en')).flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : []));

export const tryItStates: View[] = [
  { name: 'console-try-it', data: { ...begin, fault: 'client' } },
  {
    name: 'console-try-it',
    data: { ...begin, fault: 'expired', client: { name: 'H', enabled: false, reachable: false } },
  },
  ...['callback-added', 'callback-removed'].map((done): View => ({ name: 'console-try-it', data: { ...begin, done } })),
  {
    name: 'console-try-it-result',
    data: {
      ...result,
      outcome: 'waiting',
      form: begin.form!,
      ownKey: true,
      steps: under('console.try.step.').map((name) => ({
        name: name as TryStep['name'],
        method: 'POST',
        uri: 'https://id.example/token',
        parameters: under('console.try.parameter.').map((parameter) => ({ name: parameter, value: '1' })),
        status: 400,
        answer: [],
      })),
      idToken: {
        encrypted: true,
        claims: under('console.try.check.').map((check) => ({
          claim: check,
          value: '1',
          check: check as NonNullable<TryClaim['check']>,
          good: false,
        })),
      },
    },
  },
];
