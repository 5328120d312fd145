// Lists states of the console's pages about connections to directories, beside the examples.
import {
  directoryCheckProblems,
  directoryCountNames,
  directoryImportProblems,
} from '../../../src/pages/views/directories.ts';
import { examples } from '../../../templates/examples/index.ts';
import { type View } from './state.ts';

const page = examples['console-directory'][1];
const imports = page.imports!;
const counts = Object.fromEntries(directoryCountNames.map((name, index) => [name, index + 1]));
const login = examples.login[1];
const refusals = [
  'directory',
  ...['password-expired', 'password-change', 'account-expired', 'disabled'].map((one) => `directory-${one}`),
];

export const directoryStates: View[] = [
  ...directoryCheckProblems.map((one): View => ({
    name: 'console-directory',
    data: { ...page, check: { problem: one, login: 'ada' } },
  })),
  ...[{ login: '' }, { login: 'ada' }, { login: 'ada', groups: [] }].map((check): View => ({
    name: 'console-directory',
    data: { ...page, check },
  })),
  ...directoryImportProblems.map((one): View => ({
    name: 'console-directory',
    data: { ...page, imports: { ...imports, state: 'failed', counts: {}, problem: one } },
  })),
  { name: 'console-directory', data: { ...page, imports: { ...imports, state: 'done', counts } } },
  { name: 'console-directory', data: { ...page, imports: { ...imports, state: 'new', counts: {} } } },
  { name: 'console-directory', data: { ...page, imports: { ...imports, running: true } } },
  ...(['off', 'invited'] as const).map((provisioning): View => ({
    name: 'console-directory',
    data: { ...page, directory: { ...page.directory, provisioning, linking: 'never', status: 'link_only' } },
  })),
  ...(['import-started', 'import-approved'] as const).map((done): View => ({
    name: 'console-directory',
    data: { ...page, done },
  })),
  ...refusals.map((problem): View => ({ name: 'login', data: { ...login, problem } })),
];
