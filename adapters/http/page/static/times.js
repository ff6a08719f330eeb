// Shows instants in the reader's time zone, with UTC beside. Pages come with UTC alone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const isUtc = (at) => at.getTimezoneOffset() === 0;
const two = (number) => String(number).padStart(2, "0");

const dayOf = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

const local = (at, form) => {
  const date = dayOf(at);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const fine = form === "coarse" ? time : `${time}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return form === "clock" ? fine : `${date} ${fine}`;
};

// Events come under headings of their attempt and their day in UTC: the days become the reader's.
const showDays = (events) => {
  let heading = null, day = "";
  for (const one of [...events.children]) {
    const time = one.querySelector("time[datetime]");
    if (one.matches(".split")) {
      if (heading?.firstChild.data === one.firstChild.data) one.remove(); // a day in UTC began
      else [heading, day] = [one, ""];
    } else if (heading && time) {
      const at = new Date(time.dateTime), told = isUtc(at) ? `${dayOf(at)} (UTC)` : dayOf(at);
      if (told === day) continue;
      if (day) one.before(heading = heading.cloneNode(true));
      heading.querySelector(".day").textContent = day = told;
    }
  }
};

// Of many the first ones that are on the page; the others are asked for once it has been drawn.
export const showTimes = (within, most = Infinity) => {
  let left = most;
  const note = document.querySelector("[data-zone]");
  if (note && !isUtc(new Date())) note.textContent = `Times in ${zone} and UTC`;
  const lists = within.matches?.("ol.events") ? [within] : within.querySelectorAll("ol.events");
  lists.forEach(showDays);
  for (const shown of within.querySelectorAll("time[datetime]:not([data-shown])")) {
    if (left-- <= 0) return;
    const at = new Date(shown.dateTime);
    shown.dataset.shown = "";
    if (Number.isNaN(at.getTime()) || isUtc(at)) continue;
    const utc = document.createElement("span");
    utc.className = "utc";
    const told = shown.textContent, { form } = shown.dataset;
    const sameDay = at.getUTCDate() === at.getDate();
    if (form === "clock") utc.textContent = `${told} UTC`;
    else utc.textContent = sameDay ? told.slice(told.indexOf(" ") + 1) : told;
    shown.replaceChildren(local(at, form), " ", utc);
  }
};

export const span = (seconds) => {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86400).toFixed(1)} days`;
};

export const countDown = (within) => {
  for (const shown of within.querySelectorAll("[data-until]")) {
    const left = (new Date(shown.dataset.until) - Date.now()) / 1000;
    shown.textContent = left > 0 ? `in ${span(left)}` : "now";
  }
};
