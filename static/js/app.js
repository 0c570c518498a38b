// Pages refresh themselves only while someone can see them; times are shown in the reader's zone.
"use strict";
(() => {
  const body = document.body;
  const every = Number(document.documentElement.dataset.refresh || 5) * 1000;
  const refresh = () => {
    if (document.visibilityState === "visible") body.dispatchEvent(new Event("refresh"));
  };
  setInterval(refresh, every);
  document.addEventListener("visibilitychange", refresh);

  // --- Times: <time datetime data-ago> counts up here, so an unchanged part need not be sent again.
  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const span = (seconds) => {
    const at = UNITS.findIndex(([size]) => seconds >= size);
    if (at < 0) return "0 s";
    const [size, unit] = UNITS[at];
    const whole = Math.floor(seconds / size);
    const rest = UNITS[at + 1] && whole < 10 ? Math.floor((seconds % size) / UNITS[at + 1][0]) : 0;
    return `${whole} ${unit}` + (rest && unit !== "min" ? ` ${rest} ${UNITS[at + 1][1]}` : "");
  };
  const localise = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (!time.dataset.local) {
        time.dataset.local = "1";
        time.title = `${at.toLocaleString()} (${time.dateTime.slice(0, 19).replace("T", " ")} UTC)`;
        if (time.dataset.show === "moment") time.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
      }
      if (time.dataset.show === "moment") continue;
      const seconds = Math.round((now - at) / 1000);
      const text = span(Math.abs(seconds));
      const shown = time.dataset.show === "age" ? text : seconds < 0 ? `in ${text}` : `${text} ago`;
      if (time.textContent !== shown) time.textContent = shown;
    }
  };
  localise();
  setInterval(localise, 1000);
  body.addEventListener("htmx:afterSettle", localise);

  // --- Parts: an unchanged one answers 304 to the ETag it came with; a failing one keeps its rows.
  body.addEventListener("htmx:configRequest", (event) => {
    const etag = event.detail.elt.dataset.etag;
    if (etag && event.detail.triggeringEvent?.type === "refresh") event.detail.headers["If-None-Match"] = etag;
  });
  body.addEventListener("htmx:afterRequest", (event) => {
    const { xhr, elt, successful } = event.detail;
    if (xhr.status === 304 || successful) document.getElementById("connection").hidden = true;
    const etag = xhr.status === 200 && xhr.getResponseHeader("ETag");
    if (etag && elt.dataset) elt.dataset.etag = etag;
  });
  const failed = (event) => {
    const { elt, xhr } = event.detail;
    document.getElementById("connection").hidden = false;
    document.getElementById("connection-reason").textContent = xhr?.status
      ? `The portal answered ${xhr.status} (request ${xhr.getResponseHeader("X-Request-Id") || "unknown"}).`
      : "The portal does not answer.";
    const waiting = elt.querySelector?.(".part-waiting");
    if (waiting) waiting.replaceWith(document.getElementById("part-failed").content.cloneNode(true));
  };
  body.addEventListener("htmx:responseError", failed);
  body.addEventListener("htmx:sendError", failed);

  // --- Forms marked data-guard: who leaves with something typed and not sent is asked first.
  const touched = new Set();
  body.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-guard]");
    if (form) touched.add(form);
  });
  body.addEventListener("submit", () => touched.clear());
  addEventListener("beforeunload", (event) => {
    if (touched.size) event.preventDefault();
  });

  // --- Buttons without a server: menus, dialogs, copying, retrying.
  const closeMenus = (but) => {
    for (const menu of document.querySelectorAll("details.dropdown[open]")) if (menu !== but) menu.open = false;
  };
  document.addEventListener("click", (event) => {
    closeMenus(event.target.closest("details.dropdown"));
    const button = event.target.closest("[data-toggle], [data-dialog], [data-close], [data-copy], [data-retry]");
    if (!button) return;
    const { toggle, dialog, copy } = button.dataset;
    if (toggle) button.setAttribute("aria-expanded", document.getElementById(toggle).classList.toggle("show"));
    else if (dialog) document.getElementById(dialog).showModal();
    else if ("close" in button.dataset) button.closest("dialog").close();
    else if ("retry" in button.dataset) refresh();
    else navigator.clipboard.writeText(copy || document.getElementById(button.dataset.copyFrom).innerText)
      .then(() => { button.dataset.done = "1"; setTimeout(() => delete button.dataset.done, 1500); });
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeMenus(); });
})();
