// Declares what the console's page about a provisioning target shows.
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

export interface ConsoleProvisioningPages {
  'console-provisioning-target': ConsoleFrame & {
    target: {
      client: string;
      clientUri: string;
      baseUrl: string;
      state: 'active' | 'held' | 'failing' | 'disabled';
      leave: 'disable' | 'delete' | 'nothing';
      /** Each with why it was not brought up to date, if it was not. */
      groups: { name: string; failure?: string }[];
      counts: Record<'active' | 'creating' | 'leaving' | 'waiting' | 'failing', number>;
      createdAt: Date;
      /** When all users were last compared. */
      reviewedAt?: Date;
      failingSince?: Date;
      retryAt?: Date;
      failure?: string;
    };
    /** Why it is held. */
    hold?: 'first' | 'mass';
    /** Has how many accounts would end; present for one that is held. */
    approveForm?: FormView;
    reconcileForm?: FormView;
    users: {
      sub: string;
      /** Absent for a deleted user. */
      name?: string;
      uri?: string;
      remoteId?: string;
      state: 'none' | 'active' | 'left';
      isWaiting: boolean;
      act?: 'created' | 'adopted' | 'changed' | 'disabled' | 'deleted' | 'unchanged';
      status?: number;
      answeredAt?: Date;
      failure?: string;
      nextAt?: Date;
    }[];
    editUri: string;
    deleteUri: string;
    first?: string;
    next?: string;
  };
}
