/** What only a report of several accounts needs. */
export const accountStyles = `
#accounts td .aside{display:inline;white-space:nowrap}
.account{margin-top:16px;background:var(--surface);border:1px solid var(--line);border-radius:10px}
.account>summary{padding:12px 18px}
.account>summary h2{display:inline;margin:0;font-size:17px}
.account>summary .aside{font-weight:400;margin-left:6px}
.account>div{padding:4px 18px 18px;scroll-margin-top:56px}
.account .facts{margin-top:4px}
.account section{margin-top:0;padding:20px 0;background:none;border:0;border-radius:0;border-top:1px solid var(--line)}
.account h3{margin:0 0 12px;font-size:17px;line-height:1.3;font-weight:650}
.account h3+.remark{margin:-6px 0 12px}
@media (max-width:720px){
.account>summary{padding:12px 14px}
.account>summary .aside{display:block;margin:2px 0 0}
.account>div{padding:4px 14px 14px}
}
@media print{
.account{border:0;margin-top:9mm}
.account>summary,.account>div{padding:0}
.account:not([open]){display:none}
}
`;
