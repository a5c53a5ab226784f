import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Whose a parcel is, and who can read it. */
export interface ParcelSeal {
  /** The text of `fleet.encryptionKey`. */
  readonly key: string;
  /** Name of the object; a parcel cannot be read under another one. */
  readonly name: string;
}

/** What encrypts one parcel. */
export interface ParcelCipher {
  readonly key: Buffer;
  readonly iv: Buffer;
  /** Authenticated with the content. */
  readonly associated: Buffer;
}

/*
 * The head of a parcel, in clear:
 *   0  "SLUICE", the version of the format (1), the compression (1: zstd)
 *   8  salt of the keys
 *  24  iv
 *  36  8 bytes that show whether the key is the right one
 *  44  8 bytes that show whether the name is
 *  52  CRC-32 of all that, so that damage is not taken for another key
 * The content follows, and the tag of AES-256-GCM at the end. Head and name are authenticated, too.
 */
const MAGIC = Buffer.from('SLUICE\x01\x01', 'latin1');
const SALT_AT = MAGIC.length;
const SALT_BYTES = 16;
const IV_AT = SALT_AT + SALT_BYTES;
const IV_BYTES = 12;
const KEY_CHECK_AT = IV_AT + IV_BYTES;
const NAME_CHECK_AT = KEY_CHECK_AT + 8;
const CRC_AT = NAME_CHECK_AT + 8;
/** Bytes of the head. */
export const HEAD_BYTES = CRC_AT + 4;
/** Bytes of the tag. */
export const TAG_BYTES = 16;

/**
 * Makes the head of a new parcel.
 *
 * @param random gives so many random bytes
 */
export function makeHead(
  seal: ParcelSeal,
  random: (bytes: number) => Buffer,
): { readonly head: Buffer; readonly cipher: ParcelCipher } {
  const salt = random(SALT_BYTES);
  const iv = random(IV_BYTES);
  const { keyCheck, nameCheck } = deriveChecks(seal, salt);
  const checked = Buffer.concat([MAGIC, salt, iv, keyCheck, nameCheck]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(checked));
  const head = Buffer.concat([checked, sum]);
  return { head, cipher: makeCipher(seal, head) };
}

/** Reads the head of a parcel; a text says what is wrong with it. */
export function readHead(
  seal: ParcelSeal,
  head: Buffer,
): ParcelCipher | 'damaged' | 'newer' | 'key' | 'name' {
  if (!head.subarray(0, 6).equals(MAGIC.subarray(0, 6))) return 'damaged';
  if (head.readUInt32BE(CRC_AT) !== crc32(head.subarray(0, CRC_AT))) return 'damaged';
  if (!head.subarray(0, MAGIC.length).equals(MAGIC)) return 'newer';
  const { keyCheck, nameCheck } = deriveChecks(seal, head.subarray(SALT_AT, IV_AT));
  if (!timingSafeEqual(keyCheck, head.subarray(KEY_CHECK_AT, NAME_CHECK_AT))) return 'key';
  if (!timingSafeEqual(nameCheck, head.subarray(NAME_CHECK_AT, CRC_AT))) return 'name';
  return makeCipher(seal, head);
}

function makeCipher({ key, name }: ParcelSeal, head: Buffer): ParcelCipher {
  return {
    key: deriveKey(key, head.subarray(SALT_AT, IV_AT), 'content'),
    iv: head.subarray(IV_AT, KEY_CHECK_AT),
    associated: Buffer.concat([head, Buffer.from(name)]),
  };
}

function deriveChecks({ key, name }: ParcelSeal, salt: Buffer) {
  // Of a key of their own: they say nothing about the one of the content.
  const checks = deriveKey(key, salt, 'checks');
  const check = (text: string) => createHmac('sha256', checks).update(text).digest().subarray(0, 8);
  return { keyCheck: check('key'), nameCheck: check(`name ${name}`) };
}

function deriveKey(text: string, salt: Buffer, use: string): Buffer {
  return Buffer.from(hkdfSync('sha256', text, salt, `sluice parcel 1 ${use}`, 32));
}
