import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../state/run-file.ts';
import type { NotifyEvent } from '../model/notify.ts';
import type { Notice } from './notice.ts';

/** What was told last of each event that goes on: its sameness, and the UTC day. */
export type NoticeMemory = Readonly<
  Partial<Record<NotifyEvent, { readonly sameness: string; readonly day: string }>>
>;

/**
 * Whether a notice is still to be told: what goes on is told once a day, and anew when it is something else or
 * had ended in between.
 */
export function isDue(memory: NoticeMemory, { event, sameness }: Notice, day: string): boolean {
  const last = memory[event];
  return sameness === undefined || last?.sameness !== sameness || last.day !== day;
}

/** The memory after a run; `told` are the notices that reached somebody, `found` all that there were. */
export function remember(
  memory: NoticeMemory,
  found: readonly Notice[],
  told: readonly Notice[],
  day: string,
): NoticeMemory {
  const goingOn = Object.entries(memory).filter(([event]) => found.some((notice) => notice.event === event));
  const news = told.flatMap(({ event, sameness }) =>
    sameness === undefined ? [] : [[event, { sameness, day }] as const],
  );
  return Object.fromEntries([...goingOn, ...news]);
}

/** What was told so far; a file that is missing or damaged costs one notice too many, never one too few. */
export function readNoticeMemory(stateDir: string): NoticeMemory {
  try {
    const content = JSON.parse(readFileSync(fileIn(stateDir), 'utf8')) as {
      version?: unknown;
      told?: unknown;
    };
    const isUsable = content.version === 1 && typeof content.told === 'object' && content.told !== null;
    return isUsable ? (content.told as NoticeMemory) : {};
  } catch {
    return {};
  }
}

/** Keeps it for the next run. */
export function writeNoticeMemory(stateDir: string, memory: NoticeMemory): void {
  writeFileAtomically(fileIn(stateDir), JSON.stringify({ version: 1, told: memory }));
}

function fileIn(stateDir: string): string {
  return join(stateDir, 'notified.json');
}
