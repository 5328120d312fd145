// Declares what the console's pages about connections to directories show.
import type { ConsoleFrame } from './console.ts';
import type { RuleListView } from './console-rules.ts';
import type { FormView } from './parts.ts';

/** The first thing that a test found wrong: keys under `console.directory.check.`. */
export const directoryCheckProblems = [
  'secret',
  'not-allowed',
  'unreachable',
  'certificate',
  'credentials',
  'base',
  'no-users',
  'no-id',
  'no-login',
  'group-base',
  'no-groups',
  'no-members',
  'no-user',
];

/** Why an import failed: keys under `console.directory.import.problem.`. */
export const directoryImportProblems = [
  'address',
  'connection',
  'tls',
  'credentials',
  'search',
  'limit',
  'nothing',
  'twice',
  'many',
];

const countNames = ['found', 'created', 'changed', 'disabled', 'enabled', 'skipped', 'kept'] as const;
export type DirectoryCounts = Partial<Record<(typeof countNames)[number], number>>;
export { countNames as directoryCountNames };

export interface DirectoryPages {
  /** Posts to `testForm` and `importForm`; the latter posts `act`: "start", "full" or "approve". */
  'console-directory': ConsoleFrame & {
    directory: {
      id: string;
      name: string;
      status: 'enabled' | 'disabled' | 'link_only';
      url: string;
      startTls: boolean;
      bindDn: string;
      base: string;
      userFilter: string;
      logins: string[];
      groupBase?: string;
      linking: 'never' | 'ask' | 'domain';
      provisioning: 'off' | 'invited' | 'on';
      authoritativeDomains: string[];
      secretSince?: Date;
      createdAt: Date;
    };
    rules: RuleListView[];
    editUri: string;
    deleteUri: string;
    testForm: FormView;
    /**
     * The result of a test. `groups` are those of the user with the typed name, absent if the directory does not say, and `given` those here that
     * the rules make of them.
     */
    check?: { problem?: (typeof directoryCheckProblems)[number]; login: string; groups?: string[]; given?: string[] };
    /** Present if users are imported. */
    imports?: {
      /** In minutes. */
      interval: number;
      state: 'new' | 'done' | 'failed' | 'held';
      running: boolean;
      problem?: (typeof directoryImportProblems)[number];
      counts: DirectoryCounts;
      finishedAt?: Date;
      form: FormView;
    };
  };
}
