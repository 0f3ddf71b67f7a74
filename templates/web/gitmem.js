// Keys, the reader's own time zone, the words beside the slider, and what is new while an agent works. Every page works
// without it.
"use strict";
{
  const pad = (number) => String(number).padStart(2, "0");
  const day = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  document.cookie = `gitmem-zone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; samesite=strict`;
  const byTheClock = () => {
    for (const time of document.querySelectorAll('time[datetime*="T"]')) {
      const at = new Date(time.dateTime);
      if (!isNaN(at)) {
        const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
        const length = time.textContent.length;  // of 12:00, 2026-11-21, or both
        time.textContent = length < 10 ? clock : length > 10 ? `${day(at)} ${clock}` : day(at);
        time.title = at.toLocaleString();
      }
    }
  };
  byTheClock();
  document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  document.addEventListener("input", ({ target }) => {
    if (!target.matches("input.back")) return;
    const at = new Date();
    at.setDate(at.getDate() - Number(target.value));
    document.getElementById("as-of").textContent = Number(target.value) ? day(at) : "now";
  });

  // A page in which nobody writes, ticks or selects shows what is new by itself; another one says that there is something.
  const live = document.body.dataset.live;
  const busy = () =>
    document.querySelector("main :focus:not(a):not(summary), main .item.at, main details.more[open], main .acts details[open], main .add[open], main .many :checked") ||
    document.querySelector("main form input[name=sure]") || String(getSelection());
  const renew = async (tip) => {
    const said = document.getElementById("working");
    if (busy()) {
      said.textContent = "Something was saved: reload to see it";
      return;
    }
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of ["main", ".side"]) document.querySelector(part).replaceWith(page.querySelector(part));
    document.body.dataset.tip = tip;
    byTheClock();
  };
  let source = null;
  const watch = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (live && !source) {
      source = new EventSource(live);
      source.onmessage = ({ data }) => {
        const now = JSON.parse(data);
        document.getElementById("working").textContent = now.working ? "an agent is working" : "";
        if (now.tip !== document.body.dataset.tip) renew(now.tip);
      };
    }
  };
  document.addEventListener("visibilitychange", watch);
  watch();

  const keys = document.getElementById("keys");
  const show = document.getElementById("show-keys");
  if (show) {
    show.hidden = false;
    show.addEventListener("click", () => keys.showModal());
  }

  const pages = { h: "", t: "timeline", f: "facts", s: "sessions", c: "concepts", r: "review", k: "knowledge", w: "why" };
  const link = (name) => document.querySelector(`nav a[data-page="${name || "home"}"]`);
  const items = () => [...document.querySelectorAll(".item")];
  const move = (step) => {
    const all = items();
    if (!all.length) return;
    const at = all.findIndex((one) => one.classList.contains("at"));
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    all[at]?.classList.remove("at");
    next.classList.add("at");
    (next.querySelector("a.go, summary, .go") ?? next).focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  let going = 0;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=checkbox]):not([type=range]), textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (keys.open) return;
    if (Date.now() - going < 1500 && event.key in pages) {
      going = 0;
      const there = link(pages[event.key]);
      if (there) location.href = there.href;
    } else if (event.key === "g") {
      going = Date.now();
    } else if (event.key === "/") {
      const field = document.getElementById("q") ?? document.getElementById("quick");
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    } else if (event.key === "x") {
      document.querySelector(".item.at input[type=checkbox]")?.click();
    } else if (event.key === "a") {
      const more = document.querySelector(".item.at > details.more");
      if (more) more.open = true;
      (more ?? document.querySelector(".many:has(:checked) .bar, .acts"))?.querySelector("button")?.focus();
    } else if (event.key === "u") {
      document.querySelector(".note button")?.click();
    } else if (event.key === "?") {
      keys.showModal();
    }
  });
}
