import type { ClientStream, SentRow } from '../model/client-stream.ts';
import { DELETED_AT, describeSingerSchema, describeSingerStream } from './singer-catalog.ts';
import type { Bookmark } from './singer-state.ts';

/** One line of the protocol. */
type Message = Readonly<Record<string, unknown>>;

/** What `--discover` prints. */
export function singerCatalog(streams: readonly ClientStream[]): Message {
  return { streams: streams.map((stream) => describeSingerStream(stream)) };
}

/** What the records that follow look like. */
export function schemaMessage(stream: ClientStream, columns: readonly string[]): Message {
  return {
    type: 'SCHEMA',
    stream: stream.name,
    schema: describeSingerSchema(stream, columns),
    key_properties: stream.key ?? [],
    bookmark_properties: [],
  };
}

/** The table is there in this version: rows of earlier ones are to be removed. */
export function activateMessage(stream: string, version: number): Message {
  return { type: 'ACTIVATE_VERSION', stream, version };
}

/** Where the target is, once it has what came before. */
export function singerState(bookmarks: ReadonlyMap<string, Bookmark>): Message {
  return { type: 'STATE', value: { bookmarks: Object.fromEntries(bookmarks) } };
}

/** The text of RECORD messages: values are written as they came, so that none is rounded. */
export function createSingerWriter(
  stream: ClientStream,
  { tableVersion, extractedAt }: { readonly tableVersion: number; readonly extractedAt: string },
): (row: SentRow) => string {
  const begin = `{"type":"RECORD","stream":${JSON.stringify(stream.name)},"record":{`;
  const end = `},"version":${tableVersion},"time_extracted":${JSON.stringify(extractedAt)}}\n`;
  if (stream.key === undefined) return ({ members }) => `${begin}${members}${end}`;
  return ({ members, deletedAt }) => {
    const deleted = `"${DELETED_AT}":${deletedAt === undefined ? 'null' : JSON.stringify(deletedAt)}`;
    return `${begin}${members === '' ? '' : `${members},`}${deleted}${end}`;
  };
}
