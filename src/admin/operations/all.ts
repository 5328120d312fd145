// Lists every administrative operation, those of configuration files among them.
import { configOperations } from './config/operations.ts';
import { operations } from './index.ts';
import type { Operation } from './operation.ts';

export const allOperations = (): Operation[] => [...operations, ...configOperations];
