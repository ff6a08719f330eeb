// Brings news without a reload: asks for the page again, and takes over the parts that changed.
// The server answers 304 while nothing did. A page that nobody looks at does not ask.
const SLOWEST = 60;
const banner = document.querySelector("#banner");
let tag = null, pause = 0, timer = null;

export const show = (text) => {
  banner.textContent = text;
  banner.hidden = text === "";
};

// Shows what is wrong with news, and takes away that alone.
let trouble = "";
const tell = (text) => {
  if (text !== trouble) show(text);
  trouble = text;
};

// What each part said when it came, before scripts made anything of it.
const said = new Map();

export const remember = () => {
  for (const part of document.querySelectorAll("[data-region]")) said.set(part.id, part.innerHTML);
};

// A click on what is replaced between press and release goes nowhere: news waits for the release.
let released = null, release = null;
addEventListener("pointerdown", (event) => {
  if (event.button === 0) released ??= new Promise((done) => { release = done; });
});
for (const name of ["pointerup", "pointercancel", "dragend", "blur"]) {
  addEventListener(name, () => setTimeout(() => { release?.(); released = release = null; }));
}

// Whoever moves the cursor of the chart, or marks words to copy them, is not disturbed either.
const isInUse = (part) => {
  if (part.contains(document.activeElement) && document.activeElement.matches("[data-scrub]")) return true;
  const marked = getSelection();
  return !marked.isCollapsed && marked.containsNode(part, true);
};

// Returns whether all of it was taken over.
const takeOver = (fresh, dress) => {
  let whole = [...said.keys()].every((id) => fresh.getElementById(id)); // else it broke off
  for (const part of fresh.querySelectorAll("[data-region]")) {
    const old = document.getElementById(part.id), now = part.innerHTML;
    if (!old || said.get(part.id) === now) continue;
    if (isInUse(old)) { whole = false; continue; }
    const inside = old.contains(document.activeElement);
    said.set(part.id, now);
    const focused = inside && document.activeElement.getAttribute("href");
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    part.querySelectorAll("details").forEach((one, place) => { if (place in open) one.open = open[place]; });
    const wide = old.querySelector(".scroll")?.scrollLeft || 0;
    old.replaceWith(document.adoptNode(part));
    dress(part);
    if (wide) part.querySelector(".scroll").scrollLeft = wide;
    if (focused) [...part.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
  }
  return whole;
};

const ask = async (every, dress) => {
  try {
    const headers = tag ? { "If-None-Match": tag } : {};
    const answer = await fetch(location.href, { headers, cache: "no-store", redirect: "error" });
    if (answer.status === 401) { tell("You are signed out. Load the page again to sign in."); return; }
    if (answer.status === 503) throw new Error("The ledger does not answer; this is how things stood.");
    if (answer.status === 404) { tell("This is no longer in the ledger; it may have been archived."); return; }
    if (answer.status !== 304 && !answer.ok) throw new Error(`The server answers ${answer.status}; this is how things stood.`);
    tell("");
    pause = every;
    if (answer.status === 200) {
      if (!said.size) { location.reload(); return; } // what could not be told is told now
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      await released;
      tag = takeOver(fresh, dress) ? answer.headers.get("ETag") : null;
      document.body.dataset.looked = String(1 + Number(document.body.dataset.looked || 0));
    }
  } catch (error) {
    if (said.size) tell(error instanceof TypeError ? "The server does not answer; this is how things stood." : error.message);
    pause = Math.min(pause * 2, SLOWEST);
  }
  schedule(every, dress);
};

const schedule = (every, dress) => {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(() => ask(every, dress), pause * 1000);
};

export const keepLive = (dress) => {
  const every = Number(document.body.dataset.live);
  if (!every) return;
  pause = every;
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(every, dress); });
  schedule(every, dress);
};
