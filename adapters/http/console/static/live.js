// Asks again for the part of the page that changes by itself, while somebody can see it.

import { localTimes } from "./console.js";

const SECONDS = 3;

async function again(part) {
  if (document.hidden || part.contains(document.activeElement)) return;
  try {
    const answer = await fetch(part.dataset.live);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    part.replaceChildren(...page.body.childNodes);
    localTimes(part);
  } catch {
    // The server does not answer: what was known last stays, and is asked for again.
  }
}

for (const part of document.querySelectorAll("[data-live]")) setInterval(() => again(part), 1000 * SECONDS);
