// What a page does beyond its links and forms: the reader's own time, the chart, news without reload.
import { showTimes, countDown } from "./times.js";
import { drawCharts } from "./chart.js";
import { keepLive, remember, show } from "./live.js";

const PATIENCE = 600; // milliseconds without an answer, after which a reader is told

const AT_ONCE = 80; // times that are put into the reader's zone before the page is drawn

// Events that nobody sees at first come in once the page is drawn, or at once if one is pointed at.
const bringIn = (within) => {
  for (const later of within.querySelectorAll("template[data-later]")) later.replaceWith(later.content);
};
const isPointedAt = (later) => location.hash.length > 1 && later.content.getElementById(location.hash.slice(1));

const dress = (within) => {
  bringIn(within);
  showTimes(within);
  drawCharts(within);
};

remember();
if ([...document.querySelectorAll("template[data-later]")].some(isPointedAt)) {
  bringIn(document);
  location.replace(location.hash); // it was not there when the browser looked for it
}
showTimes(document, AT_ONCE);
drawCharts(document);
requestAnimationFrame(() => setTimeout(() => { bringIn(document); showTimes(document); }));
countDown(document);
setInterval(() => countDown(document), 1000);
keepLive(dress);

// A report over a year takes its time: whoever asked is told that the answer is on its way.
addEventListener("beforeunload", () => setTimeout(() => show("One moment: the ledger is being asked."), PATIENCE));
addEventListener("pageshow", (event) => { if (event.persisted) show(""); });

// `/` goes to the search field, as on many pages; not while somebody writes.
document.addEventListener("keydown", (event) => {
  const writes = event.target.closest("input, select, textarea");
  if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const field = document.querySelector("input[type=search]");
    if (field) { event.preventDefault(); field.focus(); }
  }
});
