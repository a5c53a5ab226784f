import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** A certificate with its key, as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** One that can sign others. */
export interface Authority extends Certificate {
  readonly name: string;
  readonly privateKey: KeyObject;
}

const DAY_MS = 86_400_000;

/** Makes an authority nobody trusts until they are told to. */
export function makeAuthority(name: string): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = writeCertificate({
    subject: name,
    issuer: name,
    publicKey,
    signer: privateKey,
    validMs: [-DAY_MS, DAY_MS],
    extensions: [basicConstraints(true)],
  });
  return { name, privateKey, cert, key: exportKey(privateKey) };
}

/** Makes a server's certificate for an IP address or a name; signed by itself without an authority. */
export function makeServerCertificate(options: {
  readonly host: string;
  readonly authority?: Authority;
  /** Days from now; from yesterday to tomorrow when left out. */
  readonly validDays?: readonly [from: number, to: number];
}): Certificate {
  const { host, authority, validDays = [-1, 1] } = options;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = writeCertificate({
    subject: host,
    issuer: authority?.name ?? host,
    publicKey,
    signer: authority?.privateKey ?? privateKey,
    validMs: [validDays[0] * DAY_MS, validDays[1] * DAY_MS],
    extensions: [basicConstraints(false), subjectAltName(host)],
  });
  return { cert, key: exportKey(privateKey) };
}

// What follows writes X.509 (RFC 5280) in DER: a tag, a length, the content.
const SEQUENCE = 0x30;
const SET = 0x31;
const ECDSA_WITH_SHA256 = der(SEQUENCE, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
const COMMON_NAME = der(0x06, Buffer.from('550403', 'hex'));

function writeCertificate(parts: {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly validMs: readonly [number, number];
  readonly extensions: readonly Buffer[];
}): string {
  const nowMs = Date.now();
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    writeName(parts.issuer),
    der(SEQUENCE, ...parts.validMs.map((offsetMs) => writeTime(nowMs + offsetMs))),
    writeName(parts.subject),
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, ...parts.extensions)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, parts.signer));
  const certificate = der(SEQUENCE, body, ECDSA_WITH_SHA256, signature).toString('base64');
  const lines = certificate.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function basicConstraints(isAuthority: boolean): Buffer {
  const content = isAuthority ? der(0x01, Buffer.from([0xff])) : Buffer.alloc(0);
  return writeExtension('551d13', der(SEQUENCE, content));
}

function subjectAltName(host: string): Buffer {
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(host);
  const name = isAddress ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host));
  return writeExtension('551d11', der(SEQUENCE, name));
}

function writeExtension(oid: string, content: Buffer): Buffer {
  return der(SEQUENCE, der(0x06, Buffer.from(oid, 'hex')), der(0x04, content));
}

function writeName(name: string): Buffer {
  return der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(0x0c, Buffer.from(name)))));
}

function writeTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]/g, '').replace(/\.\d+/, '');
  return der(0x18, Buffer.from(text));
}

function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : length < 0x10000
          ? [0x82, length >> 8, length & 0xff]
          : undefined;
  if (size === undefined) throw new RangeError(`${length} bytes are too many for this writer`);
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function exportKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}
