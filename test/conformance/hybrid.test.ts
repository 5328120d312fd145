// Runs the plan Hybrid OP.
import { useBed } from './bed/bed.ts';
import { runPlans } from './run.ts';

runPlans(useBed(), ['oidcc-hybrid']);
