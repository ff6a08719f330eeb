// Zoom, pan and a cursor over the chart of attempts. Places are percent of the whole time.
import { showTimes } from "./times.js";

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];
const SVG = "http://www.w3.org/2000/svg";
const kept = { from: 0, to: 100, at: null }; // outlives news of the job, which bring a new chart

const offset = (seconds) => {
  for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= unit) return `${+(seconds / unit).toFixed(2)} ${name}`;
  }
  return `${+seconds.toFixed(1)} s`;
};

const place = (chart) => {
  const wide = kept.to - kept.from;
  const x = (percent) => ((percent - kept.from) / wide) * 100;
  for (const one of chart.querySelectorAll("rect[data-x]")) {
    const begin = x(+one.dataset.x), end = x(+one.dataset.x + +one.dataset.w);
    const left = Math.max(begin, -1), right = Math.min(end, 101);
    one.setAttribute("x", `${left}%`);
    one.setAttribute("width", `${Math.max(right - left, 0)}%`);
  }
  for (const one of chart.querySelectorAll("line[data-x]")) {
    one.setAttribute("x1", `${x(+one.dataset.x)}%`);
    one.setAttribute("x2", `${x(+one.dataset.x)}%`);
  }
  ticks(chart, x);
  stand(chart);
};

const ticks = (chart, x) => {
  const group = chart.querySelector(".ticks"), whole = +chart.dataset.seconds;
  const shown = (whole * (kept.to - kept.from)) / 100, room = Math.max(2, chart.querySelector("svg").clientWidth / 110);
  const step = STEPS.find((one) => shown / one <= room) || 86400 * Math.ceil(shown / 86400 / room);
  const height = chart.querySelector("svg").height.baseVal.value - 22;
  group.replaceChildren();
  for (let at = Math.ceil((whole * kept.from) / 100 / step) * step; at <= (whole * kept.to) / 100 + 1e-9; at += step) {
    const where = `${x((at / whole) * 100)}%`;
    const line = document.createElementNS(SVG, "line"), text = document.createElementNS(SVG, "text");
    for (const [name, value] of Object.entries({ x1: where, x2: where, y1: 0, y2: height })) line.setAttribute(name, value);
    text.setAttribute("x", where);
    text.setAttribute("y", height + 15);
    const isLast = x((at / whole) * 100) > 94; // a label to the right of it would be cut off
    text.setAttribute("dx", isLast ? -3 : 3);
    if (isLast) text.setAttribute("text-anchor", "end");
    text.textContent = offset(at);
    group.append(line, text);
  }
};

const zoom = (chart, by, around = 50) => {
  if (by === 0) { kept.from = 0; kept.to = 100; return place(chart); }
  const wide = Math.min(100, Math.max(0.05, (kept.to - kept.from) * by));
  const centre = kept.from + ((kept.to - kept.from) * around) / 100;
  kept.from = Math.min(Math.max(0, centre - (wide * around) / 100), 100 - wide);
  kept.to = kept.from + wide;
  place(chart);
};

const pan = (chart, by) => {
  const wide = kept.to - kept.from;
  kept.from = Math.min(Math.max(0, kept.from + by), 100 - wide);
  kept.to = kept.from + wide;
  place(chart);
};

const grab = (chart, plot) => {
  let last = null;
  plot.addEventListener("pointerdown", (event) => {
    if (event.target.closest("input") || kept.to - kept.from >= 100) return;
    last = event.clientX;
    plot.setPointerCapture(event.pointerId);
    plot.classList.add("grabbing");
  });
  plot.addEventListener("pointermove", (event) => {
    if (last === null) return;
    pan(chart, (-(event.clientX - last) / plot.clientWidth) * (kept.to - kept.from));
    last = event.clientX;
  });
  for (const name of ["pointerup", "pointercancel"]) {
    plot.addEventListener(name, () => { last = null; plot.classList.remove("grabbing"); });
  }
  plot.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the wheel alone scrolls the page
    event.preventDefault();
    const box = plot.getBoundingClientRect();
    zoom(chart, event.deltaY < 0 ? 0.8 : 1.25, ((event.clientX - box.left) / box.width) * 100);
  }, { passive: false });
};

// Puts the cursor where the instant is that is looked at: the address's until somebody moves it.
const stand = (chart) => {
  const scrub = chart.querySelector("[data-scrub]"), line = chart.querySelector(".cursor");
  kept.at ??= scrub.dataset.at ? Date.parse(scrub.dataset.at) : null;
  if (kept.at === null) return;
  const percent = (kept.at - Date.parse(chart.dataset.begin)) / chart.dataset.seconds / 10;
  const there = ((percent - kept.from) / (kept.to - kept.from)) * 100;
  scrub.value = 10 * there;
  scrub.setAttribute("aria-valuetext", new Date(kept.at).toISOString());
  line.setAttribute("x1", `${there}%`);
  line.setAttribute("x2", `${there}%`);
  line.setAttribute("visibility", "visible");
};

let asking = null, timer = null;
const look = (chart, scrub) => {
  const percent = kept.from + ((kept.to - kept.from) * scrub.value) / 1000;
  kept.at = Date.parse(chart.dataset.begin) + chart.dataset.seconds * percent * 10;
  stand(chart);
  clearTimeout(timer);
  timer = setTimeout(() => fetchMoment(scrub.dataset.url, new Date(kept.at).toISOString()), 120);
};

const fetchMoment = async (url, at) => {
  if (asking) asking.abort();
  asking = new AbortController();
  const region = document.querySelector("#moment");
  try {
    const answer = await fetch(`${url}?at=${encodeURIComponent(at)}`, { signal: asking.signal });
    const told = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = told.querySelector(".moment");
    if (!found) throw new Error(told.querySelector("h1")?.textContent || "no answer");
    region.replaceChildren(document.adoptNode(found));
    showTimes(region);
    const here = new URL(location.href);
    here.searchParams.set("at", at);
    history.replaceState(null, "", here);
    const field = document.querySelector("input[name=at]");
    if (field) field.value = at;
  } catch (error) {
    if (error.name !== "AbortError") region.textContent = `Not told: ${error.message}.`;
  }
};

export const drawCharts = (within) => {
  const chart = within.matches?.("#chart") ? within : within.querySelector("#chart");
  if (!chart) return;
  const scrub = chart.querySelector("[data-scrub]"), buttons = document.querySelector("[data-zoom]");
  scrub.hidden = false;
  for (const told of document.querySelectorAll("[data-scripted]")) told.hidden = false;
  scrub.addEventListener("input", () => look(chart, scrub));
  grab(chart, chart.querySelector(".plot"));
  buttons.hidden = false;
  for (const button of buttons.querySelectorAll("button")) {
    const by = +button.dataset.by, part = +button.dataset.pan || 0;
    button.onclick = () => {
      const now = document.querySelector("#chart");
      if (part) pan(now, part * (kept.to - kept.from));
      else zoom(now, by);
    };
  }
  new ResizeObserver(() => place(chart)).observe(chart);
  place(chart);
};
