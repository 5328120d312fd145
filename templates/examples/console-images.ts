// Gives example data of the console's page that changes a picture or a logo.
import type { ConsoleImagePages } from '../../src/pages/views/console-images.ts';
import type { Examples } from '../../src/pages/views/parts.ts';
import { consoleFrame } from './console.ts';
import { form, image } from './parts.ts';

export const consoleImageExamples: Examples<ConsoleImagePages> = {
  'console-image': [
    {
      ...consoleFrame,
      section: 'users' as const,
      kind: 'user',
      of: { id: '5f2c', name: '', uri: '/admin/users/5f2c' },
      present: false,
      form: form('/admin/users/5f2c/image'),
    },
    {
      ...consoleFrame,
      section: 'clients' as const,
      kind: 'client',
      of: { id: 'harbour', name: 'Harbour', image, uri: '/admin/clients/harbour' },
      present: true,
      form: form('/admin/clients/harbour/image'),
      fault: 'picture-damaged',
    },
  ],
};
