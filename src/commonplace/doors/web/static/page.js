// What script adds to pages that work without it: keys, search as you type, what is new.
"use strict";

// "/" goes to the search box of the page, else to the search page.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const box = document.querySelector('input[type="search"]');
  if (!box) return;
  event.preventDefault();
  box.focus();
  box.select();
});

// A form with data-results="ID" is sent as one types; that part of the answer takes its place here.
for (const form of document.querySelectorAll("form[data-results]")) {
  let waiting = 0;
  let asked = null;
  const send = async () => {
    const address = new URL(form.action);
    address.search = new URLSearchParams(new FormData(form)).toString();
    asked?.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(address, { signal: asked.signal });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById(form.dataset.results);
      const old = document.getElementById(form.dataset.results);
      if (!fresh || !old) return;
      old.replaceWith(fresh);
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(send, 250);
  });
}

// What is in #live is shown again when another program wrote something.
const live = document.getElementById("live");
if (live && document.body.dataset.live) {
  const events = new EventSource(document.body.dataset.live);
  events.addEventListener("new", async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("live");
    const now = document.getElementById("live");
    // Nothing moves under a reader who is in the middle of it.
    if (fresh && now && !now.contains(document.activeElement)) now.replaceWith(fresh);
  });
  // A server that ended, or that this browser must sign in to again, is named.
  const lost = document.createElement("p");
  lost.className = "warning";
  lost.setAttribute("role", "status");
  lost.textContent = "The server has ended or does not know this browser any more: what you see may be old.";
  events.addEventListener("error", () => document.getElementById("main").prepend(lost));
  events.addEventListener("open", () => lost.remove());
  addEventListener("pagehide", () => events.close());
}
