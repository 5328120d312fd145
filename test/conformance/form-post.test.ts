// Runs the three plans of Form Post OP.
import { useBed } from './bed/bed.ts';
import { runPlans } from './run.ts';

runPlans(useBed(), ['oidcc-formpost-basic', 'oidcc-formpost-implicit', 'oidcc-formpost-hybrid']);
