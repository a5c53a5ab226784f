import { readFileSync } from 'node:fs';

/**
 * The most memory this process ever had in RAM, MB. `resourceUsage().maxRSS` begins with what its parent had
 * when it was started, so the kernel's own mark is read where there is one.
 */
export function readPeakMb(): number {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (kilobytes !== undefined) return Number(kilobytes) / 1_024;
  } catch {
    // Not Linux: the next best is good enough.
  }
  return process.resourceUsage().maxRSS / 1_024;
}
