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

// A part of another page, or what that page says in its place, as a part with the same id.
const part = async (answer, id) => {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.getElementById(id);
  if (answer.ok && found) return found;
  const said = document.createElement("p");
  said.className = "warning";
  said.textContent = page.querySelector("main p")?.textContent ?? answer.statusText;
  const instead = document.createElement("div");
  instead.id = id;
  instead.append(said);
  return instead;
};

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
      const fresh = await part(answer, form.dataset.results);
      document.getElementById(form.dataset.results).replaceWith(fresh);
      if (answer.ok) history.replaceState(null, "", address);
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
if (document.getElementById("live") && document.body.dataset.live) {
  const main = document.getElementById("main");
  let isOld = false;
  const refresh = async () => {
    const answer = await fetch(location.href);
    const fresh = answer.ok && (await part(answer, "live"));
    const now = document.getElementById("live");
    // Nothing moves under a reader who is in the middle of it; it waits until they leave.
    isOld = now.contains(document.activeElement);
    if (fresh && !isOld && !fresh.isEqualNode(now)) now.replaceWith(fresh);
  };
  const events = new EventSource(document.body.dataset.live);
  events.addEventListener("new", refresh);
  main.addEventListener("focusout", () => isOld && setTimeout(refresh));
  // What the server is still summing up is asked for again, ever less often.
  let wait = 1000;
  const askAgain = () => {
    if (!("behind" in document.getElementById("live").dataset)) return;
    setTimeout(() => refresh().then(askAgain, () => {}), wait);
    wait = Math.min(wait * 2, 60000);
  };
  askAgain();
  // A server that ended, or that this browser must sign in to again, is named.
  const lost = document.createElement("p");
  lost.className = "warning";
  lost.setAttribute("role", "status");
  lost.textContent = "The server has ended or does not know this browser any more: what you see may be old.";
  events.addEventListener("error", () => main.prepend(lost));
  events.addEventListener("open", () => lost.remove());
  addEventListener("pagehide", () => events.close());
}
