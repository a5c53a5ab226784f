import type { FileHandle } from 'node:fs/promises';
import type * as Tar from 'tar';
import { loadPackage } from '../../model/load-package.ts';
import { readFully } from '../store/local-file.ts';

/** A file to be packed, open; its bytes up to `size` are read. */
export interface OpenedFile {
  /** Below the state folder, with `/`. */
  readonly path: string;
  /** Absolute; for errors. */
  readonly file: string;
  readonly handle: FileHandle;
  readonly size: number;
}

/** A file of an archive; its bytes have to be read before the next one is asked for. */
export interface TarEntry {
  readonly path: string;
  readonly size: number;
  readonly bytes: AsyncGenerator<Buffer>;
}

const BLOCK = 512;
const READ_BYTES = 2 ** 18;
/** Of the extended header of a long name. */
const MOST_NAME_BYTES = 2 ** 16;

type TarPackage = typeof Tar;

/** Loads the package that knows the format. Throws a ConfigError (2) where it is not installed. */
export const loadTar = (): Promise<TarPackage> =>
  loadPackage({ name: 'tar', neededBy: 'this fleet' }, () => import('tar'));

/** An archive of files, in chunks. Files only: folders follow from names, and times are not kept. */
export async function* writeTar(
  { Header, Pax }: TarPackage,
  files: AsyncIterable<OpenedFile>,
): AsyncGenerator<Buffer> {
  for await (const opened of files) {
    yield describeFile({ Header, Pax }, opened);
    for (let at = 0; at < opened.size; at += READ_BYTES) {
      const chunk = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, opened.size - at));
      await readFully(opened, chunk, at);
      yield chunk;
    }
    yield Buffer.alloc(paddingOf(opened.size));
  }
  yield Buffer.alloc(2 * BLOCK);
}

function describeFile(
  { Header, Pax }: Pick<TarPackage, 'Header' | 'Pax'>,
  { path, size }: OpenedFile,
): Buffer {
  const about = { mode: 0o600, size, type: 'File' } as const;
  const header = new Header({ ...about, path });
  header.encode();
  if (!header.needPax && header.block !== undefined) return header.block;
  // The name is in an extended header, whole; that of the plain one is not read.
  const short = new Header({ ...about, path: 'file' });
  short.encode();
  return Buffer.concat([new Pax({ path, size }).encode(), short.block ?? Buffer.alloc(BLOCK)]);
}

/** The files of an archive. Throws an Error for anything else in it: links, folders, damage. */
export async function* readTar(
  { Header, Pax }: TarPackage,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<TarEntry> {
  const source = new ByteSource(chunks);
  let extended: Tar.Pax | undefined;
  for (;;) {
    const block = await source.take(BLOCK);
    const header = new Header(block, 0, extended);
    if (header.nullBlock) break;
    const { path = '', size = -1, type } = header;
    if (!header.cksumValid || size < 0) throw new Error('a header of its archive is not valid');
    if (type === 'ExtendedHeader' && extended === undefined && size <= MOST_NAME_BYTES) {
      extended = Pax.parse((await source.take(size)).toString('utf8'));
      await source.take(paddingOf(size));
      continue;
    }
    if (type !== 'File') throw new Error(`${path} is not a file (${type})`);
    extended = undefined;
    yield { path, size, bytes: source.read(size) };
    await source.take(paddingOf(size));
  }
  // To its end, or the decompressor would wait for a reader.
  for await (const _ of source.rest());
}

const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

/** Takes bytes from a stream in the pieces that its reader wants. */
class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** For small pieces. */
  async take(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.read(bytes)) pieces.push(piece);
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  }

  async *read(bytes: number): AsyncGenerator<Buffer> {
    let left = bytes;
    while (left > 0) {
      if (this.#held.length === 0 && !(await this.#fill())) throw new Error('its archive ends early');
      const piece = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async *rest(): AsyncGenerator<Buffer> {
    do yield this.#held;
    while (await this.#fill());
  }

  async #fill(): Promise<boolean> {
    const next = await this.#chunks.next();
    if (next.done === true) return false;
    this.#held = next.value;
    return true;
  }
}
