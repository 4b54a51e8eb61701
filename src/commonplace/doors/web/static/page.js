// What script adds to pages that work without it: keys, search as you type, what is new.
"use strict";

const isTyping = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]), textarea, select, dialog");

const made = (name, values) => Object.assign(document.createElement(name), values);

const fieldsOf = (form) => new URLSearchParams(new FormData(form));

const post = (address, body, keepalive = false) => fetch(address, { method: "POST", body, keepalive });

const pageOf = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html");

// A part of another page, or what that page says in its place, as a part with the same id.
const part = async (answer, id) => {
  const page = await pageOf(answer);
  const found = page.getElementById(id);
  if (answer.ok && found) return found;
  const instead = made("div", { id });
  const textContent = page.querySelector("main p")?.textContent ?? answer.statusText;
  instead.append(made("p", { className: "warning", textContent }));
  return instead;
};

// Asks as one types: again once the answer under way is here, so that none comes out of order.
const PAUSE = 60;
const asYouType = (ask) => {
  let waiting = 0;
  let isAsking = false;
  let isOld = false;
  const go = async () => {
    isOld = isAsking;
    if (isAsking) return;
    isAsking = true;
    await ask().catch(() => {});
    isAsking = false;
    if (isOld) go();
  };
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(go, PAUSE);
  };
};

// A form with data-results="ID" is sent as one types; that part of the answer takes its place here.
for (const form of document.querySelectorAll("form[data-results]")) {
  form.addEventListener("input", asYouType(async () => {
    const address = new URL(form.action);
    address.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const answer = await fetch(address);
    const fresh = await part(answer, form.dataset.results);
    document.getElementById(form.dataset.results).replaceWith(fresh);
    if (answer.ok) history.replaceState(null, "", address);
  }));
}

// The box: Enter writes, Shift+Enter is a new line, Ctrl+Enter finds; what is typed is found below.
const box = document.getElementById("box");
if (box) {
  const area = box.elements.text;
  const found = document.getElementById("found");
  const find = asYouType(async () => {
    const words = area.value.trim();
    if (words.length < 3 || words.length > 120 || /^\/|\n/.test(words)) return found.replaceChildren();
    const address = new URL(box.dataset.find, location);
    address.search = new URLSearchParams({ q: words, n: 5 });
    const fresh = await fetch(address).then((answer) => part(answer, "results"), () => "");
    if (document.activeElement === area) found.replaceChildren(fresh);
  });
  // "/note " at the beginning is the chip of that name.
  area.addEventListener("input", () => {
    const named = /^\/([a-z-]+)\s/.exec(area.value);
    const chip = named && [...box.elements.as].find((x) => [x.value, x.parentNode.textContent.trim()].includes(named[1]));
    if (chip) {
      chip.checked = true;
      area.value = area.value.slice(named[0].length);
    }
    find();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      area.blur();
      found.replaceChildren();
    }
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    const act = event.ctrlKey || event.metaKey ? "find" : "write";
    if (area.value.trim()) box.requestSubmit(box.querySelector(`button[value=${act}]`));
  });
}

// What is typed is kept by the server as one types, and when the page is left.
for (const form of document.querySelectorAll("form[data-draft]")) {
  let waiting = 0;
  let isSent = false;
  let asking = null;
  let isSaid = false;
  const keep = () => {
    clearTimeout(waiting);
    waiting = 0;
    const body = fieldsOf(form);
    const asked = post(form.dataset.draft, body, body.toString().length < 60000);
    const mine = asked
      .then((answer) => answer.ok, () => false)
      .then((isKept) => {
        if (asking === mine) asking = null;
        if (!isKept && !isSaid) showNote("What you type is not kept until you write it: the server did not take it.");
        isSaid = !isKept;
      });
    asking = mine;
  };
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(keep, 600);
  });
  form.addEventListener("submit", (event) => {
    // Sent once, and after what was kept before it: that would stand in the box again.
    if (isSent) return event.preventDefault();
    clearTimeout(waiting);
    if (asking) {
      event.preventDefault();
      return asking.then(() => form.requestSubmit(event.submitter));
    }
    isSent = true;
  });
  addEventListener("pageshow", () => (isSent = false));
  addEventListener("pagehide", () => waiting && !isSent && keep());
}

// Keys: "/" and "n" to the box, arrows along the rows, and what a row's buttons do.
const rows = () => [...document.querySelectorAll("main .rows > li")].filter((row) => row.checkVisibility() && row.querySelector("a.open"));
let chosen = "";
const select = (row) => {
  document.querySelector(".rows > li.selected")?.classList.remove("selected");
  row?.classList.add("selected");
  row?.scrollIntoView({ block: "nearest" });
  chosen = row?.dataset.ref ?? "";
};
const move = (by) => {
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains("selected"));
  if (all.length) select(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)]);
};
// A finger beside the words of a row shows what can be done with it, as the arrows do.
document.addEventListener("click", (event) => {
  const row = event.target.closest("main .rows > li");
  if (row?.querySelector("a.open") && !event.target.closest("a, button, summary, input")) select(row);
});
const KEYS = [
  ["/", "find"], ["n", "write"], ["\u2191 \u2193", "move along the rows"], ["o, Enter", "open"],
  ["y, b", "the first card: it replaces it, both hold"], ["k", "keep: seen and right"], ["e", "correct"], ["x", "forget, after ten seconds"], ["u", "undo"], ["Esc", "leave it as it is"], ["?", "these keys"],
];
const help = () => {
  const dialog = made("dialog");
  const list = made("dl");
  dialog.setAttribute("aria-label", "Keys");
  for (const [key, what] of KEYS) {
    const term = made("dt");
    term.append(made("kbd", { textContent: key }));
    list.append(term, made("dd", { textContent: what }));
  }
  const close = made("button", { textContent: "Close", className: "quiet" });
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.append(list, close);
  document.body.append(dialog);
  dialog.showModal();
};
document.addEventListener("keydown", (event) => {
  const left = event.key === "Escape" && event.target.closest("main textarea, main input");
  if (left) left.blur();
  else if (isTyping(event)) return;
  const row = document.querySelector(".rows > li.selected:not([hidden])");
  const press = (key) => {
    const named = `[data-key="${key}"]`;
    (row ? row.querySelector(named) : document.querySelector(`main ${named}:not(.rows *)`))?.click();
  };
  const answer = (key) => document.querySelector(`.ask [data-key="${key}"]`)?.click();
  const toBox = () => {
    const area = document.querySelector("#box textarea") ?? document.querySelector('main input[type="search"]');
    area?.focus();
    area?.select();
  };
  const does = {
    "/": toBox, n: toBox, "?": help, k: () => press("k"), e: () => press("e"), x: () => press("x"),
    y: () => answer("y"), b: () => answer("b"),
    o: () => row?.querySelector("a.open")?.click(),
    u: () => undo(),
    // Nothing that was typed is left by a key.
    Escape: () => [...document.querySelectorAll("main textarea, main input")].some((x) => x.value !== x.defaultValue) || press("Escape"),
    ArrowDown: () => move(1), ArrowUp: () => move(-1),
  };
  if (event.key === "Enter" && row && event.target === document.body) does.Enter = does.o;
  if (!does[event.key]) return;
  if (!left) event.preventDefault();
  does[event.key]();
});

// What is open is ticked once.
document.addEventListener("submit", (event) => {
  const form = event.target.closest(".ticks form");
  if (form?.dataset.sent) event.preventDefault();
  if (form) form.dataset.sent = "1";
});

// "k" takes a row away at once, and brings it back by "u".
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-keep]");
  if (!form) return;
  event.preventDefault();
  const row = form.closest("li");
  const send = (act) => {
    const body = fieldsOf(form);
    body.set("do", act);
    body.set("quiet", 1);
    return post(form.action, body, true).then((answer) => {
      if (!answer.ok) throw new Error(answer.statusText);
    });
  };
  hide(row);
  const one = {
    back: () => {
      end(one);
      // After it was kept, or the server might take the two the other way round.
      kept.then(() => send("new")).then(() => show(row), () => showNote("It stays kept: the server did not take it."));
    },
  };
  undoable.push(one);
  const kept = send("keep").catch(() => {
    end(one);
    show(row);
    showNote("It was not kept: the server did not take it.");
  });
});

// "x" hides a row at once, and forgets it after ten seconds unless it is undone or the page closed.
const SECONDS = 10;
let refresh = () => location.reload();
const undoable = [];
const hidden = new Set();
const end = (one) => undoable.includes(one) && undoable.splice(undoable.indexOf(one), 1);
const hide = (row) => {
  if (row.classList.contains("selected")) move(rows().at(-1) === row ? -1 : 1);
  row.hidden = true;
  hidden.add(row.dataset.ref);
};
const show = (row) => {
  hidden.delete(row.dataset.ref);
  const there = [...document.querySelectorAll(".rows > li")].filter((each) => each.dataset.ref === row.dataset.ref);
  for (const each of there) each.hidden = false;
  if (!there.length) refresh(); // it was left out while it was kept
};
const undo = () => {
  const last = undoable.at(-1);
  if (last) last.back();
  else document.querySelector('main [data-key="u"]')?.click();
};
const showNote = (words, ...more) => {
  const note = made("div", { className: "note" });
  note.setAttribute("role", "status");
  note.append(made("p", { textContent: words }), ...more);
  const live = document.getElementById("live");
  if (live) live.before(note);
  else document.getElementById("main").prepend(note);
  return note;
};
// By the page that plans it, whose form is sent as it stands.
const forgetNow = async (address) => {
  const plan = await fetch(address);
  const form = (await pageOf(plan)).querySelector("main form[data-forget]");
  if (!plan.ok || !form) return "It is not forgotten: open it to see why.";
  const done = await post(form.getAttribute("action"), fieldsOf(form));
  const said = await pageOf(done);
  return done.ok ? `Forgotten. ${said.querySelector(".lead")?.textContent ?? ""}` : said.querySelector("main p")?.textContent;
};
document.addEventListener("click", (event) => {
  const link = event.target.closest('.rows a[data-key="x"]');
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const row = link.closest("li");
  const words = row.querySelector("a.open").textContent.slice(0, 60);
  hide(row);
  let left = SECONDS;
  const button = made("button", { className: "plain", textContent: "Undo (u)" });
  const note = showNote("", button);
  const say = () => (note.firstChild.textContent = `Forgets \u201c${words}\u201d in ${left} s.`);
  const timer = setInterval(async () => {
    left -= 1;
    say();
    if (left) return;
    stop();
    note.firstChild.textContent = "Forgetting \u2026";
    button.remove();
    const said = await forgetNow(link.href).catch(() => "It is not forgotten: the server does not answer.");
    note.firstChild.textContent = said;
    if (!said.startsWith("Forgotten")) show(row);
  }, 1000);
  const one = { back: () => { stop(); show(row); note.remove(); } };
  const stop = () => {
    clearInterval(timer);
    removeEventListener("pagehide", one.back);
    end(one);
  };
  addEventListener("pagehide", one.back); // nor where the browser brings the page back
  button.addEventListener("click", one.back);
  undoable.push(one);
  say();
});

// What is in #live is shown again when another program wrote something.
if (document.getElementById("live") && document.body.dataset.live) {
  const main = document.getElementById("main");
  let isOld = false;
  refresh = async () => {
    const answer = await fetch(location.href).catch(() => null);
    if (!answer) return;
    const beside = answer.clone();
    const fresh = answer.ok && (await part(answer, "live"));
    const aside = document.getElementById("beside");
    if (aside && answer.ok && !aside.contains(document.activeElement)) {
      const now = await part(beside, "beside");
      if (!now.isEqualNode(aside)) aside.replaceWith(now);
    }
    const now = document.getElementById("live");
    // Nothing moves under a reader who is in the middle of it; it waits until they leave.
    isOld = now.contains(document.activeElement);
    if (!fresh || isOld) return;
    for (const row of fresh.querySelectorAll(".rows > li[data-ref]")) {
      row.hidden = hidden.has(row.dataset.ref);
      row.classList.toggle("selected", row.dataset.ref === chosen);
    }
    if (!fresh.isEqualNode(now)) now.replaceWith(fresh);
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
  const textContent = "The server has ended or does not know this browser any more: what you see may be old.";
  const lost = made("p", { className: "warning", textContent });
  lost.setAttribute("role", "status");
  events.addEventListener("error", () => main.prepend(lost));
  events.addEventListener("open", () => lost.remove());
  addEventListener("pagehide", () => events.close());
}
