-- Passwords whose hash another system made, or made with other parameters: few or none once people have signed in. What is computed for an unknown
-- user name is chosen by their share (src/crypto/dummy-hashes.ts). The condition is repeated by the query of src/repositories/users/password-kinds.ts.
CREATE INDEX users_other_hashes ON users (sub)
  WHERE password_hash IS NOT NULL AND password_hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%';
