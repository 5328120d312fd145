// Runs before each test file: forgets the secrets of the file before, whose databases are searched and dropped.
import { forgetAll } from './dump-search.ts';

forgetAll();
