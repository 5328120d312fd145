// Reads and writes the table images: the uploaded pictures of users, and logos of clients and connections, each named by the row of its owner.
import { type Sql, statement } from '../../database/database.ts';
import type { Picture, PictureType } from '../../rules/images/picture.ts';

/** Whose image it is: of one of them. */
export interface ImageOwner {
  sub?: string;
  clientId?: string;
  connectionId?: string;
}

interface Row {
  type: PictureType;
  content: Buffer;
}

const find = statement('images.find', 'SELECT type, content FROM images WHERE key = $1');
const findOfUser = statement('images.find_of_user', 'SELECT type, content FROM images WHERE sub = $1');
const insert = statement(
  'images.insert',
  'INSERT INTO images (key, type, content, sub, client_id, connection_id) VALUES ($1, $2, $3, $4, $5, $6)',
);
const remove = statement('images.delete', 'DELETE FROM images WHERE sub = $1 OR client_id = $2 OR connection_id = $3');
const nameLogoOfClient = statement('images.name_logo_of_client', 'UPDATE clients SET logo = $2 WHERE client_id = $1');
const nameLogoOfConnection = statement(
  'images.name_logo_of_connection',
  `UPDATE connections SET logo = $2, version = version + 1, updated_at = date_trunc('milliseconds', clock_timestamp()) WHERE id = $1`,
);

export function imagesRepository(sql: Sql) {
  const one = async (rows: Promise<Row[]>): Promise<Picture | undefined> => (await rows)[0];
  return {
    find: (key: string): Promise<Picture | undefined> => one(sql.query<Row>(find, [key])),
    findOfUser: (sub: string): Promise<Picture | undefined> => one(sql.query<Row>(findOfUser, [sub])),
    /** In a transaction that has locked the owner: replaces the image of the owner, or removes it. */
    async put({ sub, clientId, connectionId }: ImageOwner, key: string, image: Picture | undefined): Promise<void> {
      const owner = [sub, clientId, connectionId];
      await sql.query(remove, owner);
      if (image) await sql.query(insert, [key, image.type, image.content, ...owner]);
    },
    /** @param name of the file; undefined for none */
    async nameLogo({ clientId, connectionId }: ImageOwner, name: string | undefined): Promise<void> {
      if (clientId !== undefined) await sql.query(nameLogoOfClient, [clientId, name]);
      else await sql.query(nameLogoOfConnection, [connectionId, name]);
    },
  };
}
