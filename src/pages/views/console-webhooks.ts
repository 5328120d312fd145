// Declares what the console's pages about a webhook show.
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

export interface ConsoleWebhooksPages {
  'console-webhook': ConsoleFrame & {
    webhook: {
      id: string;
      name: string;
      url: string;
      events: string[];
      isEnabled: boolean;
      /** How many messages wait. */
      waiting: number;
      failingSince?: Date;
      createdAt: Date;
    };
    secrets: { id: string; since?: Date }[];
    /** Of a further secret; absent when there are two. */
    secretForm?: FormView;
    /** Posts `secret`; absent for the last one. */
    removeForm?: FormView;
    deliveries: {
      event: string;
      type: string;
      status: 'waiting' | 'delivered' | 'given_up';
      attempts: number;
      answer?: { status: number; time: number; start: string };
      failure?: string;
      createdAt: Date;
      nextAt?: Date;
      /** In the audit trail. */
      eventUri: string;
    }[];
    /** Posts `event`. */
    replayForm: FormView;
    editUri: string;
    deleteUri: string;
    first?: string;
    next?: string;
  };
  /** Shows a secret once. */
  'console-webhook-secret': ConsoleFrame & { name: string; uri: string; id: string; secret: string };
}
