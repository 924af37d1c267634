// Moves through time: fetches what was known at the moment of the slider, and puts it into the page.

import { localTimes } from "./console.js";
import { drawGraphs } from "./graph.js";

const slide = document.getElementById("slide");
const range = document.getElementById("range");
const output = slide.querySelector("output");
const shown = document.getElementById("moment");
const field = document.querySelector("form input[name=at]");
const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const PATIENCE = 200; // Milliseconds without a move, since each moment is a replay.

let waiting = 0;
let asking = new AbortController();

function isNow() {
  return Number(range.value) + Number(range.step) > Number(range.max);
}

function say() {
  const text = isNow() ? "now" : format.format(new Date(range.value * 1000));
  output.textContent = text;
  range.setAttribute("aria-valuetext", text);
}

async function show() {
  asking.abort();
  asking = new AbortController();
  const at = isNow() ? "" : new Date(range.value * 1000).toISOString();
  field.value = at.slice(0, 19);
  const part = new URL(slide.dataset.part, location.href);
  part.searchParams.set("at", at);
  shown.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(part, { signal: asking.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = page.querySelector("main");
    shown.replaceChildren(...(main ?? page.body).childNodes);
    localTimes(shown);
    drawGraphs(shown);
    const here = new URL(location.href);
    here.searchParams.set("at", at);
    history.replaceState(null, "", here);
    shown.removeAttribute("aria-busy");
  } catch (error) {
    if (error.name === "AbortError") return;
    shown.textContent = "The server does not answer. Move the slider to try again.";
    shown.removeAttribute("aria-busy");
  }
}

range.addEventListener("input", () => {
  say();
  clearTimeout(waiting);
  waiting = setTimeout(show, PATIENCE);
});
slide.hidden = false;
say();
