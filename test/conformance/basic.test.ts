// Runs the plans Basic OP, Config OP and Implicit OP.
import { useBed } from './bed/bed.ts';
import { runPlans } from './run.ts';

runPlans(useBed(), ['oidcc-basic', 'oidcc-config', 'oidcc-implicit']);
