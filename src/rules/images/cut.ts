// Defines the parts of a picture that stay, and why a picture is refused.

/** Pixels of each edge. */
export const maxEdge = 4096;

/** The code of a refusal: no such file, too many bytes, too many pixels, damaged or with more than a picture, moving. */
export type Fault = 'picture' | 'picture-size' | 'picture-edge' | 'picture-damaged' | 'picture-moving';

/** The size in pixels, and the parts of the file that stay. */
export type Cut = { width: number; height: number; parts: Buffer[] } | Fault;
