import type { RenderedDictionary } from '../../model/dictionary.ts';
import type {
  AccountsReportData,
  Paging,
  RenderedAccountsReport,
  RenderedReport,
  ReportRequest,
} from '../../model/report-data.ts';
import type { ReportedError } from '../../model/run-report.ts';
import type { OfflineSettings } from '../../model/settings.ts';

/** The functions of Sluice that make reports. */
export interface ReportEngine {
  /** The report as one HTML file or page, from the published file and the run file. */
  makeReport(settings: OfflineSettings, request: ReportRequest, paging?: Paging): Promise<RenderedReport>;
  /** The same of several accounts; what cannot be read of one is told in its place. As a page, it is an overview. */
  makeAccountsReport(
    accounts: readonly AccountToReport[],
    request: ReportRequest & Pick<AccountsReportData, 'faults'> & { readonly signal?: AbortSignal },
    paging?: Paging,
  ): Promise<RenderedAccountsReport>;
  /** The data dictionary as one HTML file, from the published file and the config. */
  makeDictionary(settings: OfflineSettings): Promise<RenderedDictionary>;
  /** The same over all accounts. */
  makeAccountsDictionary(
    accounts: readonly AccountToReport[],
    cancel: { readonly signal?: AbortSignal },
  ): Promise<RenderedDictionary>;
}

/** An account for a report, or why its config cannot be used. */
export type AccountToReport = { readonly account: string } & (
  | { readonly settings: OfflineSettings; readonly error?: undefined }
  | { readonly settings?: undefined; readonly error: ReportedError }
);
