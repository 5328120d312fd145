// Checks settings that are valid one by one, and contradict each other or the database; and what weakens the service.
import type { Config } from '../../config.ts';
import { check, type Finding, ok, warning } from './check.ts';

interface SeenSettings {
  config: Pick<
    Config,
    | 'given'
    | 'smtpUrl'
    | 'emailSignIn'
    | 'signUp'
    | 'signUpDomains'
    | 'clientDocuments'
    | 'clientDocumentHosts'
    | 'lifetimes'
    | 'rememberMe'
    | 'trustProxy'
    | 'secondFactor'
  >;
  overruled: readonly string[];
  missingGroups: readonly string[];
  writtenNameIds: readonly { clientId: string; name: string }[];
}

export const settings = check<SeenSettings>('settings', {
  async look({ config, overruled, store }) {
    const { groups } = config.secondFactor;
    const missingGroups = groups.length > 0 ? await store.doctorView.missingGroups(groups) : [];
    const writtenNameIds = await store.doctorView.writtenNameIds(config.profileEditable);
    return { config, overruled, missingGroups, writtenNameIds };
  },
  judge({ config, overruled, missingGroups, writtenNameIds }) {
    const { lifetimes } = config;
    const found: Finding[] = [];
    const say = (isSo: boolean, says: string, todo: string) => void (isSo && found.push(warning(says, todo)));
    const mailing = [config.emailSignIn && 'EMAIL_SIGN_IN=on', config.signUp && 'SIGN_UP=on'].filter(Boolean);
    say(
      mailing.length > 0 && config.smtpUrl === undefined,
      `${mailing.join(' and ')} needs mail, and SMTP_URL is unset`,
      'Set SMTP_URL, or switch the other off: users would wait for a mail that is only written to a folder.',
    );
    say(
      config.signUpDomains.length > 0 && !config.signUp,
      'SIGN_UP_DOMAINS is set, and SIGN_UP is off',
      'Set SIGN_UP=on, or remove SIGN_UP_DOMAINS: it has no effect.',
    );
    say(
      config.clientDocumentHosts.length > 0 && config.clientDocuments !== 'hosts',
      `CLIENT_ID_METADATA_HOSTS is set, and CLIENT_ID_METADATA is ${config.clientDocuments}`,
      'Set CLIENT_ID_METADATA=hosts, or remove the hosts: they have no effect.',
    );
    say(
      lifetimes.sessionIdle > lifetimes.session,
      `SESSION_IDLE_LIFETIME (${lifetimes.sessionIdle}) is longer than SESSION_LIFETIME (${lifetimes.session})`,
      'Make it shorter: a session ends after SESSION_LIFETIME, whether it is used or not.',
    );
    say(
      lifetimes.refreshTokenAbsolute > 0 && lifetimes.refreshToken > lifetimes.refreshTokenAbsolute,
      `REFRESH_TOKEN_LIFETIME (${lifetimes.refreshToken}) is longer than REFRESH_TOKEN_ABSOLUTE_LIFETIME (${lifetimes.refreshTokenAbsolute})`,
      'Make it shorter: no token outlives the absolute lifetime.',
    );
    say(
      lifetimes.auditRetention > 0 && lifetimes.auditAddressRetention > lifetimes.auditRetention,
      'AUDIT_ADDRESS_RETENTION is longer than AUDIT_RETENTION',
      'Make it shorter: an address goes with its event.',
    );
    say(
      config.trustProxy.some((range) => /^(0\.0\.0\.0|::)\/0$/.test(range)),
      'TRUST_PROXY trusts every address',
      'Name only the proxies: otherwise each user chooses the address that limits count and events show.',
    );
    say(
      missingGroups.length > 0,
      `REQUIRE_SECOND_FACTOR_GROUPS names ${missingGroups.join(', ')}, and there is no such group`,
      'Correct the name, or create the group: until then no user is asked because of it.',
    );
    say(
      writtenNameIds.length > 0,
      `users can change the NameID of ${writtenNameIds.map(({ clientId, name }) => `${clientId} (${name})`).join(', ')}`,
      'Give the application another name_id, or do not let users change the value (PROFILE_EDITABLE, or person of the attribute): they could sign in as another user there.',
    );
    say(
      overruled.length > 0,
      `this shell has another ${overruled.join(', ')} than the service`,
      'Give both the same settings, for example by --env-file. The commands use those of the service.',
    );
    return found.length > 0 ? found : [ok('none contradicts another')];
  },
});
