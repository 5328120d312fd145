// Declares the console's page that changes the picture of a user, or the logo of a client or a connection.
import type { Fault as ImageFault } from '../../rules/images/cut.ts';
import type { ConsoleFrame } from './console.ts';
import type { FaceView, FormView } from './parts.ts';

export interface ConsoleImagePages {
  /** Posts `image`, a file, with `act`: "save", or "remove". */
  'console-image': ConsoleFrame & {
    kind: 'user' | 'client' | 'connection';
    /** Whose image it is, with the page of the owner. */
    of: FaceView & { uri: string };
    /** Whether there is an image, also the picture of a user that is elsewhere. */
    present: boolean;
    form: FormView;
    fault?: 'missing' | ImageFault;
  };
}
