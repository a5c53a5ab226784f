import type { ChangePosition } from '../model/client-stream.ts';
import { isObject, readPosition } from './delivery-position.ts';

/** What a client remembers of earlier reads. */
export interface AirbyteState {
  /** By name of the stream. */
  readonly positions: ReadonlyMap<string, ChangePosition>;
  /** Parts that were not understood: streams that are sent again for it. */
  readonly ignored: readonly string[];
}

/** Reads STATE leniently: a list of messages or one, with or without their envelope, and what platforms add to them. */
export function parseAirbyteState(value: unknown): AirbyteState {
  const positions = new Map<string, ChangePosition>();
  const ignored: string[] = [];
  for (const message of listMessages(value)) {
    const stream = isObject(message) ? message['stream'] : undefined;
    if (!isObject(stream) || !isObject(stream['stream_descriptor'])) {
      if (!isObject(message)) ignored.push('a part of the state');
      else if (Object.keys(message).length > 0) ignored.push(nameForeign(message));
      continue;
    }
    const name = String(stream['stream_descriptor']['name']);
    const { stream_state: state } = stream;
    const position = readPosition(state);
    if (position !== undefined) positions.set(name, position);
    else if (isObject(state) && Object.keys(state).length > 0) ignored.push(`the state of ${name}`);
  }
  return { positions, ignored };
}

function listMessages(value: unknown): readonly unknown[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value ?? {}];
  return list.map((one) => (isObject(one) && isObject(one['state']) ? one['state'] : one));
}

function nameForeign({ type }: Readonly<Record<string, unknown>>): string {
  return typeof type === 'string' ? `a state of type ${type}` : 'a part of the state';
}
