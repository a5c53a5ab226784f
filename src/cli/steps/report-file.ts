import { REPORT_START } from '../../model/report-data.ts';
import { findOutput, type OutputTarget } from './output-file.ts';

/** The pages of a command. */
export interface PageKind {
  /** How each of them begins. */
  readonly start: string;
  readonly command: string;
  /** What it is called by default. */
  readonly example: string;
}

const reportPages: PageKind = { start: REPORT_START, command: 'sluice report', example: 'report.html' };

/** Checks that a page may be written there: a new file in a folder that exists, or an earlier page of its kind. */
export function findTarget(cwd: string, path: string, kind = reportPages): Promise<OutputTarget> {
  return findOutput(cwd, path, {
    replaces: `a page that \`${kind.command}\` wrote`,
    isReplaced: (start) => start.startsWith(kind.start),
    hint: `Name a file, e.g. --output ${kind.example}.`,
  });
}
