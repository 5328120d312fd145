// Declares the packages that come without types of their own.
declare module 'express-session';
declare module 'passport';
declare module 'passport-openidconnect';
