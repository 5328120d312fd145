// Lists states of the console's pages about the access of a user to a client, beside the examples.
import { refusedFactors } from '../../../src/pages/views/console-access.ts';
import { accessReasons } from '../../../src/rules/access/check-access.ts';
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const [empty, full] = examples['console-user-access'];
const [, explained] = examples['console-why'];
const refused = full.check!;
const allowed = { ...refused, secondFactor: undefined, reasons: [], networks: [], granted: [] };
const withCheck = (check: typeof refused): View => ({ name: 'console-user-access', data: { ...empty, check } });

export const consoleAccessStates: View[] = [
  ...(['unknown', 'several'] as const).map((problem): View => ({
    name: 'console-user-access',
    data: { ...empty, typed: full.typed, problem },
  })),
  ...(['client', 'resource', 'service', 'account'] as const).flatMap((by) =>
    [true, false].map((setUp) => withCheck({ ...allowed, secondFactor: { by, setUp, uri: '/admin/settings' } })),
  ),
  ...(['not_asked', 'given', 'asked'] as const).map((consent) => withCheck({ ...allowed, ways: [], consent })),
  withCheck({ ...refused, reasons: refused.reasons.map((reason) => ({ ...reason, names: [] })) }),
  ...[...accessReasons, ...refusedFactors, 'redirect' as const].map((code): View => ({
    name: 'console-why',
    data: { ...explained, found: { ...explained.found!, code } },
  })),
  {
    name: 'console-why',
    data: { ...explained, found: { ...explained.found!, act: { act: 'user', uri: '/admin/users/5f2c6f7e' } } },
  },
  {
    name: 'console-why',
    data: {
      ...explained,
      found: {
        at: explained.found!.at,
        path: '/connections/corp/callback',
        description: 'a sign-in by a connection ended: unreachable',
        registered: [],
        act: { act: 'connection', uri: '/admin/connections/corp' },
      },
    },
  },
];
