import { createCipheriv, createDecipheriv } from 'node:crypto';
import { StorageError } from '../../model/errors.ts';
import { onDisk, openLocal, readChunks, readFully, writeChunks } from '../store/local-file.ts';
import { damagedParcel, foreignParcel, swappedParcel } from './parcel-errors.ts';
import {
  HEAD_BYTES,
  makeHead,
  type ParcelCipher,
  type ParcelSeal,
  readHead,
  TAG_BYTES,
} from './parcel-header.ts';

/** AES-GCM is safe for so many bytes with one key and iv. */
const MOST_BYTES = 2 ** 36 - 32;

/** Encrypts chunks: the head of the parcel, its content, and the tag. Throws StorageError (6) beyond 64 GB. */
export async function* sealParcel(
  chunks: AsyncIterable<Buffer>,
  seal: ParcelSeal,
  random: (bytes: number) => Buffer,
): AsyncGenerator<Buffer> {
  const { head, cipher } = makeHead(seal, random);
  yield head;
  const encrypt = createCipheriv('aes-256-gcm', cipher.key, cipher.iv, { authTagLength: TAG_BYTES });
  encrypt.setAAD(cipher.associated);
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw tooLarge(seal.name);
    yield encrypt.update(chunk);
  }
  yield encrypt.final();
  yield encrypt.getAuthTag();
}

/**
 * Decrypts a parcel into another file, which appears only if every byte is as it was packed.
 *
 * @param file of the parcel
 * @param plain is written
 * @throws ConfigError (2) for another key; StorageError (6) for damage, another name, or a full disk
 */
export async function openParcel(file: string, plain: string, seal: ParcelSeal): Promise<void> {
  const handle = await openLocal(file);
  try {
    const { size } = await onDisk(file, () => handle.stat());
    if (size <= HEAD_BYTES + TAG_BYTES) throw damagedParcel(seal.name, file, `it ends after ${size} bytes`);
    const head = Buffer.alloc(HEAD_BYTES);
    const tag = Buffer.alloc(TAG_BYTES);
    await readFully({ handle, file }, head, 0);
    await readFully({ handle, file }, tag, size - TAG_BYTES);
    const cipher = assertReadable(readHead(seal, head), seal, file);
    const content = readChunks(file, { start: HEAD_BYTES, end: size - TAG_BYTES - 1 });
    await writeChunks({ file: plain, isScratch: true }, decrypt(content, cipher, { tag, file, seal }));
  } finally {
    await handle.close();
  }
}

/** Throws a ConfigError (2) if another key has made a parcel; what else may be wrong with it is not looked for. */
export async function assertKey(file: string, seal: ParcelSeal): Promise<void> {
  const handle = await openLocal(file);
  try {
    const { size } = await onDisk(file, () => handle.stat());
    if (size < HEAD_BYTES) return;
    const head = Buffer.alloc(HEAD_BYTES);
    await readFully({ handle, file }, head, 0);
    if (readHead(seal, head) === 'key') throw foreignParcel(seal.name, file);
  } finally {
    await handle.close();
  }
}

function assertReadable(
  found: ReturnType<typeof readHead>,
  { name }: ParcelSeal,
  file: string,
): ParcelCipher {
  if (typeof found !== 'string') return found;
  if (found === 'key') throw foreignParcel(name, file);
  if (found === 'name') throw swappedParcel(name, file);
  if (found === 'damaged') throw damagedParcel(name, file, 'its beginning is not what was packed');
  throw new StorageError(`the stored state ${name} was packed by a newer Sluice`, {
    code: 'state_damaged',
    hint: 'Nothing was unpacked, and the store is unchanged. Upgrade Sluice on this machine, and run again.',
    context: { path: file },
  });
}

async function* decrypt(
  content: AsyncIterable<Buffer>,
  { key, iv, associated }: ParcelCipher,
  { tag, file, seal }: { readonly tag: Buffer; readonly file: string; readonly seal: ParcelSeal },
): AsyncGenerator<Buffer> {
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(associated).setAuthTag(tag);
  for await (const chunk of content) yield decipher.update(chunk);
  try {
    decipher.final();
  } catch {
    // The key is the right one: bytes are missing, or others than were packed.
    throw damagedParcel(seal.name, file, 'it was cut, or bytes of it changed');
  }
}

function tooLarge(name: string): StorageError {
  return new StorageError(`the state ${name} is larger than 64 GB and cannot be packed`, {
    code: 'storage_failed',
    hint: 'Publish to a lakehouse or to Postgres, so that the rows do not travel with the state. What was stored before is unchanged.',
  });
}
