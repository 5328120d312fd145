// Runs the plans RP-Initiated OP, Session OP, Front-Channel OP and Back-Channel OP.
import { useBed } from './bed/bed.ts';
import { runPlans } from './run.ts';

runPlans(useBed(), [
  'oidcc-rp-initiated-logout',
  'oidcc-session-management',
  'oidcc-frontchannel-rp-initiated-logout',
  'oidcc-backchannel-rp-initiated-logout',
]);
