// Gives example data of the pages that try a client.
import type { TryItPages } from '../../src/pages/views/try-it.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import type { ConsoleFrame } from '../../src/pages/views/console.ts';
import { consoleFrame } from './console.ts';
import { form } from './parts.ts';

const values = { scope: '', prompt: '', maxAge: '', acrValues: '', claims: '', loginHint: '' };
const frame: ConsoleFrame = { ...consoleFrame, section: 'try-it' };
const begin = { action: '/admin/try-it', callbackUri: 'https://id.example/admin/try-it/callback' };

export const tryItExamples: Examples<TryItPages> = {
  'console-try-it': [
    { ...frame, account: { username: 'a' }, ...begin, clientId: '', values },
    {
      ...frame,
      ...begin,
      clientId: 'harbour',
      client: { name: 'Harbour', enabled: true, reachable: true },
      form: form('/admin/try-it/begin'),
      redirectForm: form('/admin/try-it/redirect-uri'),
      values: { ...values, scope: 'openid profile email', prompt: 'consent', maxAge: '60' },
    },
  ],
  'console-try-it-result': [
    { ...frame, clientName: '', outcome: 'failed', steps: [], againUri: '/admin/try-it' },
    {
      ...frame,
      clientName: 'Harbour',
      outcome: 'done',
      steps: [
        {
          name: 'authorization',
          method: 'GET',
          uri: 'https://id.example/authorize',
          parameters: [
            { name: 'response_type', value: 'code' },
            { name: 'scope', value: 'openid profile' },
            { name: 'state', value: 'n-0S6_WzA2Mj' },
          ],
        },
        {
          name: 'token',
          method: 'POST',
          uri: 'https://id.example/token',
          parameters: [
            { name: 'grant_type', value: 'authorization_code' },
            { name: 'code', value: 'gh_SplxlOBeZQQYbYS6WxSbIA', secret: true },
          ],
          status: 200,
          answer: [
            { name: 'access_token', value: 'gh_SlAV32hkKG', secret: true },
            { name: 'expires_in', value: '600' },
          ],
        },
      ],
      idToken: {
        encrypted: false,
        claims: [
          { claim: 'alg', value: 'EdDSA', check: 'signature', good: true },
          { claim: 'iss', value: 'https://id.example', check: 'iss', good: true },
          { claim: 'nonce', value: 'n-0S6_WzA2Mj', check: 'nonce', good: false },
          { claim: 'name', value: 'Ada Lovelace' },
        ],
      },
      againUri: '/admin/try-it?client_id=harbour',
    },
  ],
};
