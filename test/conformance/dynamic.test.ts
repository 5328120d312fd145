// Runs the plans Dynamic OP and Third-Party-Initiated Login OP.
import { useBed } from './bed/bed.ts';
import { runPlans } from './run.ts';

runPlans(useBed(), ['oidcc-dynamic', 'oidcc-3rdparty-init-login']);
