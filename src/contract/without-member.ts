import { isRecordObject } from '../schema/observe-fields.ts';
import type { Violation } from './violation.ts';

type RecordObject = Readonly<Record<string, unknown>>;

/**
 * A record without the value at a path; the given one is left as it is. A value inside a list takes the list
 * with it, since its neighbours would change their places.
 */
export function withoutMember(record: RecordObject, path: Violation['path']): RecordObject {
  const [name, ...rest] = path;
  if (name === undefined || !Object.hasOwn(record, name)) return record;
  const value = record[name];
  const isLast = rest.length === 0 || typeof rest[0] === 'number' || !isRecordObject(value);
  // By entries, as a field may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(record).flatMap(([member, held]) => {
      if (member !== String(name)) return [[member, held]];
      return isLast ? [] : [[member, withoutMember(value, rest)]];
    }),
  );
}
