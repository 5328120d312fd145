// Names the longest wait of a helper: a busy machine makes nothing wrong.

/** Shorter than the limit of a test, so that a failure says what was awaited. */
export const patience = 540_000; // milliseconds
