// Declares what the console's pages about the appearance and the settings show.
import type { MailFailure } from '../../outbound/mail-transport.ts';
import type { ConsoleFrame } from './console.ts';
import type { FormView } from './parts.ts';

type TextPart = 'product_name' | 'accent_color' | 'support_url';
type ImagePart = 'logo' | 'logo_dark' | 'favicon';

export type AppearanceFault = 'product-name' | 'color' | 'contrast' | 'support-url' | 'image' | 'image-size';

export interface AppearanceTextView {
  name: TextPart;
  value: string;
  /** The setting that fixes it. */
  setting?: string;
  fault?: AppearanceFault;
}

export interface AppearanceImageView {
  name: ImagePart;
  /** The address of the image in force, or a `data:` address of a chosen one. */
  uri?: string;
  /** In base64: chosen, and not stored yet. */
  chosen: string;
  removed: boolean;
  setting?: string;
  fault?: AppearanceFault;
}

export interface SettingView {
  name: string;
  /** Empty if it is not set and has no default. */
  value: string;
  /** It is set, and its value stays secret. */
  secret: boolean;
  source: 'environment' | 'default' | 'console';
  /** In English, from .env.example. */
  meaning: string;
  /** Its default, where the value is another one. */
  fallback?: string;
  /** Whether the value is not the default. */
  differs: boolean;
}

export interface ConsoleSettingsPages {
  /** Shows, previews and changes the appearance. Posts the fields of `texts` and `images`, with `act`. */
  'console-appearance': ConsoleFrame & {
    form: FormView;
    texts: AppearanceTextView[];
    images: AppearanceImageView[];
    /** With the fault `contrast`: the contrast of the typed colour, such as 3.1. */
    contrast?: string;
    /** The preview: the stylesheet of its colours, and the name. */
    preview: { stylesheet: string; name?: string };
    /** Shows a preview that is not stored yet. */
    unsaved: boolean;
  };
  /** Shows the settings that differ from their default and the groups, or one group, all groups or what is found, and sends a test mail. Sends `q` or `group` in its address. */
  'console-settings': ConsoleFrame & {
    /** The words that every shown setting has. */
    q: string;
    /** The key of the group that is shown alone, or `all`. */
    group?: string;
    /** Those that serve now, the oldest first; without an address if their version does not say it. */
    instances: { address?: string; version?: string; startedAt: Date; answers: boolean }[];
    /** In English; `key` names the title in the catalogue. */
    groups: { key: string; title: string; settings: SettingView[] }[];
    mail: {
      form: FormView;
      /** The administrator's address; without it nothing is sent. */
      address?: string;
      /** Host and port of the mail server; absent where mails go into a folder. */
      server?: string;
      folder?: string;
      sent?: boolean;
      /** Why it was not sent, with the words of the server. */
      failure?: MailFailure;
      reason?: string;
      /** Seconds until the next try. */
      wait?: number;
    };
  };
}
