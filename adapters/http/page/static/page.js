// What a page does beyond its links and forms: the reader's own time, the chart, news without reload.
import { showTimes, countDown } from "./times.js";
import { drawCharts } from "./chart.js";
import { keepLive, remember } from "./live.js";

const dress = (within) => {
  showTimes(within);
  drawCharts(within);
};

remember();
dress(document);
countDown(document);
setInterval(() => countDown(document), 1000);
keepLive(dress);

// `/` goes to the search field, as on many pages; not while somebody writes.
document.addEventListener("keydown", (event) => {
  const writes = event.target.closest("input, select, textarea");
  if (event.key === "/" && !writes && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const field = document.querySelector("input[type=search]");
    if (field) { event.preventDefault(); field.focus(); }
  }
});
