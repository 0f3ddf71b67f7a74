// Keys, the reader's own time zone, and the words beside the slider. Every page works without it.
"use strict";
{
  const pad = (number) => String(number).padStart(2, "0");
  const day = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  for (const time of document.querySelectorAll('time[datetime*="T"]')) {
    const at = new Date(time.dateTime);
    if (!isNaN(at)) {
      const clock = time.textContent.length > 10 ? ` ${pad(at.getHours())}:${pad(at.getMinutes())}` : "";
      time.textContent = day(at) + clock;
      time.title = at.toLocaleString();
    }
  }

  const back = document.querySelector("input.back");
  if (back) {
    back.addEventListener("input", () => {
      const at = new Date();
      at.setDate(at.getDate() - Number(back.value));
      document.getElementById("as-of").textContent = Number(back.value) ? day(at) : "now";
    });
  }

  const keys = document.getElementById("keys");
  const show = document.getElementById("show-keys");
  if (show) {
    show.hidden = false;
    show.addEventListener("click", () => keys.showModal());
  }

  const pages = { h: "", t: "timeline", f: "facts", s: "sessions", c: "concepts", r: "review", k: "knowledge" };
  const link = (name) => {
    const links = [...document.querySelectorAll("nav a")];
    return name ? links.find((one) => one.textContent.trim().toLowerCase() === name) : links[0];
  };
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
    } else if (event.key === "?") {
      keys.showModal();
    }
  });
}
