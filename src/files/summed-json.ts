import { crc32 } from 'node:zlib';

/** An object as JSON with a checksum as its last member: a changed bit mostly leaves valid JSON with other values. */
export function toSummedJson(value: object, indent?: number): string {
  return JSON.stringify({ ...value, sum: crc32(JSON.stringify(value)) }, undefined, indent);
}

/**
 * Parses such an object, and returns it without its checksum. Those of earlier releases have none.
 *
 * @throws SyntaxError for what is not JSON, Error for what has other values than were written
 */
export function parseSummedJson(text: string): unknown {
  const content = JSON.parse(text) as unknown;
  if (typeof content !== 'object' || content === null || !('sum' in content)) return content;
  const { sum, ...value } = content;
  if (sum !== crc32(JSON.stringify(value))) throw new Error('its values are not those that were written');
  return value;
}
