// Lists states of the console's pages that create a client: each kind, with its fields and its snippets, beside the examples.
import { clientGroups, typedOfKind } from '../../../src/admin/console/clients/fields.ts';
import { metadataFields } from '../../../src/admin/console/clients/saml-metadata.ts';
import { clientKinds } from '../../../src/admin/operations/client-kinds/kinds.ts';
import { samlValues, snippetValues } from '../../../templates/examples/console-client-create.ts';
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const create = examples['console-client-create'][1];
const created = examples['console-client-created'][1];

export const consoleClientCreateStates: View[] = clientKinds.flatMap((kind): View[] => {
  const groups = clientGroups(typedOfKind(kind), {}, kind);
  const isAsked = ({ name }: { name: string }) => kind.asked.includes(name);
  return [
    {
      name: 'console-client-create',
      data: {
        ...create,
        kind: kind.name,
        asked: [
          ...groups.flatMap(({ fields }) => fields.filter(isAsked)),
          ...(kind.stored === 'saml' ? metadataFields({}, {}) : []),
        ],
        advanced: groups.map(({ name, fields }) => ({ name, fields: fields.filter((field) => !isAsked(field)) })),
      },
    },
    {
      name: 'console-client-created',
      data: {
        ...created,
        kind: kind.name,
        saml: undefined,
        ...(kind.stored === 'saml' && { saml: samlValues, credentials: [] }),
        ...(kind.stored === 'proxy' && {
          credentials: [{ name: 'proxy_secret' as const, value: 'nX2vQm8sW4tZ1yLp7kRj0aBc5dEf9gHi3uJoMqTsVxY' }],
        }),
        snippets: kind.snippets.map(({ name, title }) => ({ name, title, values: snippetValues })),
        ...(kind.resource && { resources: [] }),
      },
    },
  ];
});
