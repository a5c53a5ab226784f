import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../state/run-file.ts';
import { keyOfNotice, type Notice, type NoticeKey } from './notice.ts';

/** The last notice sent for each ongoing event: its sameness, and the UTC day. */
export type NoticeMemory = Readonly<
  Partial<Record<NoticeKey, { readonly sameness: string; readonly day: string }>>
>;

/**
 * Whether a notice is due: an ongoing event is reported once a day, and again if it changed or had ended in
 * between.
 */
export function isDue(memory: NoticeMemory, notice: Notice, day: string): boolean {
  const { sameness } = notice;
  const last = memory[keyOfNotice(notice)];
  return sameness === undefined || last?.sameness !== sameness || last.day !== day;
}

/** The memory after a run; `sent` are the notices that reached somebody, `found` are all notices. */
export function remember(
  memory: NoticeMemory,
  found: readonly Notice[],
  sent: readonly Notice[],
  day: string,
): NoticeMemory {
  const goingOn = Object.entries(memory).filter(([key]) =>
    found.some((notice) => keyOfNotice(notice) === key),
  );
  const news = sent.flatMap((notice) =>
    notice.sameness === undefined ? [] : [[keyOfNotice(notice), { sameness: notice.sameness, day }] as const],
  );
  return Object.fromEntries([...goingOn, ...news]);
}

/** The notices sent so far. A missing or damaged file can cause one notice too many, never one too few. */
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

/** Saves it for the next run. */
export function writeNoticeMemory(stateDir: string, memory: NoticeMemory): void {
  writeFileAtomically(fileIn(stateDir), JSON.stringify({ version: 1, told: memory }));
}

function fileIn(stateDir: string): string {
  return join(stateDir, 'notified.json');
}
