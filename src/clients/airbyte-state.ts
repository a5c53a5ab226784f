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
    const { stream } = message;
    if (!isObject(stream) || !isObject(stream['stream_descriptor'])) {
      if (Object.keys(message).length > 0) ignored.push(`a state of type ${String(message['type'])}`);
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

function listMessages(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter(isObject).map((one) => (isObject(one['state']) ? one['state'] : one));
}
