// Lists states of the pages that change a picture or a logo, beside the examples.
import { examples } from '../../../templates/examples/index.ts';
import type { View } from './state.ts';

const faults = ['missing', 'picture', 'picture-size', 'picture-edge', 'picture-damaged', 'picture-moving'] as const;

export const imageStates: View[] = [
  ...faults.map((fault): View => ({ name: 'account-picture', data: { ...examples['account-picture'][1], fault } })),
  ...(['user', 'client', 'connection'] as const).map((kind): View => {
    return { name: 'console-image', data: { ...examples['console-image'][1], kind } };
  }),
  ...(['image-saved', 'image-removed'] as const).map((done): View => {
    return { name: 'console-client', data: { ...examples['console-client'][1], done } };
  }),
];
