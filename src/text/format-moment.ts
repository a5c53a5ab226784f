/** A moment in the past: `2026-11-20 14:00:05 UTC`. */
export function formatMoment(time: string | number): string {
  const ms = typeof time === 'number' ? time : Date.parse(time);
  if (Number.isNaN(ms)) return String(time);
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
