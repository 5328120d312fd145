// Names the client by which administrators sign in to the console.

/** The first sign-in of an administrator creates it; disabling it closes the console. It has the rules of the service alone. */
export const consoleClientId = 'gatehouse-console';
