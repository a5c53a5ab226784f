import { dark, light, writeProperties } from './palette.ts';

/** The whole look of the report: system fonts, one column, two themes, a narrow screen and paper. */
export const styles = `
:root{${writeProperties(light)};--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Noto Sans Mono",monospace}
@media screen and (prefers-color-scheme:dark){:root{${writeProperties(dark)}}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0 auto;max-width:1120px;padding:32px 24px 48px;background:var(--page);color:var(--ink);font:16px/1.5 var(--sans);overflow-wrap:break-word}
bdi,code{overflow-wrap:anywhere}
h1,h2,p,ul,dl,dd,figure{margin:0;padding:0}
ul{list-style:none}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
h1{display:flex;gap:14px;align-items:center;font-size:clamp(24px,4.6vw,36px);line-height:1.2;letter-spacing:-.015em;font-weight:650;text-wrap:balance}
h1 .icon{width:.9em;height:.9em}
h2{font-size:20px;line-height:1.3;font-weight:650;letter-spacing:-.005em;margin-bottom:14px}
code{font:.875em/1.45 var(--mono)}
.eyebrow,.when,.aside,.remark,.unit,footer,.empty,caption{color:var(--muted)}
.eyebrow{font-size:14px;margin-bottom:8px}
.when{margin-top:6px}
.aside{font-size:13px}
.remark,.empty{font-size:14px}
.remark{margin-top:10px}
h2+.remark{margin:-6px 0 12px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.shapes{position:absolute}
.icon{flex:none;fill:var(--idle);vertical-align:-2px}
.icon.good{fill:var(--good)}.icon.note{fill:var(--note)}.icon.bad{fill:var(--bad)}
symbol path{fill:none;stroke:var(--surface);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
symbol .plate{fill:inherit;stroke:none}
.badge{display:inline-flex;gap:6px;align-items:center;padding:1px 9px 1px 5px;border-radius:20px;font-size:14px;font-weight:550;white-space:nowrap;color:var(--idle);background:var(--idle-wash)}
.badge .icon{width:14px;height:14px}
.badge.good{color:var(--good);background:var(--good-wash)}.badge.note{color:var(--note);background:var(--note-wash)}.badge.bad{color:var(--bad);background:var(--bad-wash)}
.facts{display:flex;flex-wrap:wrap;gap:1px;margin-top:24px;background:var(--line);border:1px solid var(--line);border-radius:10px;overflow:hidden}
.facts div{flex:1 1 140px;background:var(--surface);padding:12px 16px}
.facts dt{font-size:13px;color:var(--muted)}
.facts dd{font-size:20px;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.facts .aside{display:block;font-weight:400}
nav{margin:20px 0 4px}
nav ul{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:14px}
nav a{display:inline-block;padding:4px 0;text-decoration:none}
nav a:hover{text-decoration:underline}
section{margin-top:16px;padding:22px 24px 24px;background:var(--surface);border:1px solid var(--line);border-radius:10px}
.findings{display:grid;gap:10px}
.findings li{display:flex;gap:12px;padding:11px 14px;border-radius:8px;background:var(--idle-wash)}
.findings li.good{background:var(--good-wash)}.findings li.note{background:var(--note-wash)}.findings li.bad{background:var(--bad-wash)}
.findings .icon{margin-top:4px}
.todo{font-size:15px;margin-top:2px}
.calm{display:flex;gap:10px;align-items:center}
table{width:100%;border-collapse:collapse;font-size:15px}
caption{text-align:left;font-size:14px;padding-bottom:6px}
th,td{padding:8px 14px 8px 0;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
tr>:last-child{padding-right:0}
thead th{border-top:0;padding-bottom:6px;font-size:13px;font-weight:500;color:var(--muted);white-space:nowrap;vertical-align:bottom}
tbody th{font-weight:550;min-width:150px}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td .aside{display:block}
td time{white-space:nowrap}
.strip{display:block;margin-top:3px}
.strip .good{fill:var(--good)}.strip .note{fill:var(--note)}.strip .bad{fill:var(--bad)}.strip .idle{fill:var(--rest)}
.strip .track{stroke:var(--line);stroke-width:1.5}
.legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px;color:var(--muted)}
.legend li{display:flex;gap:6px;align-items:center}
.legend .strip{margin:0}
section>.legend{margin-top:12px}
.words{display:grid;gap:6px;margin-top:16px;font-size:14px;color:var(--muted)}
.words div{display:grid;grid-template-columns:124px 1fr;gap:4px 12px;align-items:baseline}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:28px 36px}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,300px),1fr));gap:22px 32px}
.more .multiples,.more table{margin-top:16px}
.chart{min-width:0}
.chart-title{font-weight:600}
.unit{font-size:13px;white-space:nowrap}
.chart .legend{margin-top:2px}
.plot{display:flex;margin-top:6px}
.plot .rows{flex:none}
.plot .marks{flex:1;min-width:0;overflow:visible}
.plot text{font:12px var(--sans);fill:var(--muted);font-variant-numeric:tabular-nums}
.grid{stroke:var(--grid)}
.first{fill:var(--first)}.second{fill:var(--second)}.third{fill:var(--third)}.rest{fill:var(--rest)}
.wait{fill:var(--second)}
.plot g:hover rect{opacity:.8}
.bad-mark{color:var(--bad);font-weight:700}
.plot .flag{fill:var(--bad);font-weight:700}
.limit{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 4}
.plot .limit-label{fill:var(--bad);paint-order:stroke;stroke:var(--surface);stroke-width:4px}
details summary{cursor:pointer}
.numbers{font-size:13px}
.numbers summary{padding:2px 0;width:fit-content;color:var(--muted)}
.scroll{max-height:320px;overflow:auto}
.numbers table{font-size:13px;width:auto;font-variant-numeric:tabular-nums}
.numbers th,.numbers td{padding:3px 18px 3px 0;white-space:normal}
.numbers td,.numbers thead th+th{text-align:right}
.numbers tbody th{font-weight:400;min-width:0;white-space:nowrap}
.more{margin-top:16px}
.more>summary,.table>summary{color:var(--link)}
.table{border-top:1px solid var(--line);padding:10px 0}
.table:last-child{padding-bottom:0}
.table>summary{font-weight:550}
.table>summary .aside{font-weight:400}
.table[open]>summary{margin-bottom:10px}
.share{white-space:nowrap;font-variant-numeric:tabular-nums}
.meter .track{fill:var(--grid)}
.top{display:flex;align-items:baseline;flex-wrap:wrap;gap:2px 14px}
.top li{max-width:100%}
td .top .aside,td li.aside{display:inline}
.value{font-variant-numeric:tabular-nums}
.range{display:inline-flex;flex-wrap:wrap;gap:2px 10px;align-items:flex-end}
.range .aside{display:inline}
.histogram{flex:none}
.sample{display:block;max-height:8.7em;overflow:auto;font-size:12px}
footer{margin-top:24px;font-size:13px}
footer h2{font-size:15px;margin-bottom:4px;color:var(--ink)}
footer ul{list-style:disc;padding-left:18px;margin-bottom:10px}
@media (max-width:1040px){.facts div{flex-basis:30%}}
@media (max-width:720px){
body{padding:20px 14px 32px}
section{padding:18px 14px}
.facts div{flex-basis:40%;padding:10px 12px}
.facts dd{font-size:19px}
.plot .minor{display:none}
.words div{grid-template-columns:1fr}
td time{white-space:normal}
}
@media screen and (max-width:900px){
.cards thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.cards,.cards tbody,.cards caption{display:block}
.cards tr{display:block;padding:12px 0;border-top:1px solid var(--line)}
.cards th,.cards td{display:block;border:0;padding:3px 0;text-align:left}
.cards tbody th{font-size:16px}
.cards td{position:relative;padding-left:112px;min-height:28px}
.cards td::before{content:attr(data-head);position:absolute;left:0;width:104px;color:var(--muted);font-size:13px;line-height:24px}
}
@media print{
@page{margin:14mm}
body{max-width:none;padding:0;font-size:11pt;background:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}
nav,.numbers,.more:not([open]),.table:not([open]){display:none}
section{border:0;padding:0;margin-top:9mm}
.facts,.chart,tr,.findings li{break-inside:avoid}
h2{break-after:avoid}
.pair{grid-template-columns:1fr 1fr}
table,.badge,.todo{font-size:9pt}
th,td{padding-right:8px}
td time{white-space:normal}
}
`;

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
