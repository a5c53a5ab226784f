import { type FileHandle, open } from 'node:fs/promises';

const MAGIC = 0xfd2fb528;
const CHECKSUM_BYTES = 4;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const SIZE_BYTES = [0, 2, 4, 8];
/** Sizes in bytes: the magic number with the flags, and a block header. */
const START_BYTES = 5;
const BLOCK_BYTES = 3;

/**
 * Whether a file consists of complete Zstandard frames and nothing else. The engine reads all records even if the
 * last bytes are missing or others follow. The size cannot be used as a check: it depends on how the text was
 * chunked, and the packer may add an empty frame.
 */
export async function isWholeFrames(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    let at: number | undefined = 0;
    while (at !== undefined && at < size) at = await findFrameEnd(file, at);
    return at === size && size > 0;
  } finally {
    await file.close();
  }
}

/** End of the frame that starts at a byte (RFC 8878, section 3.1.1); undefined if no frame starts there. */
async function findFrameEnd(file: FileHandle, begin: number): Promise<number | undefined> {
  const start = await readBytes(file, begin, START_BYTES);
  if (start?.readUInt32LE(0) !== MAGIC) return undefined;
  const flags = start.readUInt8(4);
  const isSingle = (flags & 0x20) !== 0;
  const sizeBytes = SIZE_BYTES[flags >> 6] ?? 0;
  let at = begin + START_BYTES;
  at += (isSingle ? 0 : 1) + (DICTIONARY_BYTES[flags & 3] ?? 0) + (sizeBytes || (isSingle ? 1 : 0));
  for (let isLast = false; !isLast;) {
    const header = (await readBytes(file, at, BLOCK_BYTES))?.readUIntLE(0, BLOCK_BYTES);
    if (header === undefined) return undefined;
    const isRepeated = ((header >> 1) & 3) === 1;
    at += BLOCK_BYTES + (isRepeated ? 1 : header >> 3);
    isLast = (header & 1) === 1;
  }
  return (flags & 4) === 0 ? at : at + CHECKSUM_BYTES;
}

async function readBytes(file: FileHandle, position: number, length: number): Promise<Buffer | undefined> {
  const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(length), position });
  return bytesRead === length ? buffer : undefined;
}
