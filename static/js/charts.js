// Draws every [data-chart] from the figure its URL serves, in the page's colours, and keeps it new.
"use strict";
(() => {
  const css = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
  // Plotly knows neither oklch() nor color-mix(), so colours are resolved to rgb by a canvas.
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (name) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = css(name) || "#888";
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return `rgba(${r},${g},${b},${(a / 255).toFixed(3)})`;
  };
  // A figure names colours as "var(--yard-dra)"; the style sheet says what they are in each theme.
  const resolve = (value) => {
    if (Array.isArray(value)) return value.map(resolve);
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v)]));
    const found = typeof value === "string" && value.match(/^var\((--[\w-]+)\)$/);
    return found ? rgb(found[1]) : value;
  };
  const ROWS = 3, MOST_ROWS = 12, ROW = 19; // of a legend, in px
  const themed = (figure) => {
    const axis = { gridcolor: rgb("--yard-grid"), linecolor: rgb("--yard-grid"), zerolinecolor: rgb("--yard-grid"), automargin: true };
    const layout = resolve(figure.layout || {});
    const axes = Object.fromEntries(["xaxis", "yaxis", "yaxis2"].filter((k) => k !== "yaxis2" || layout.yaxis2).map((k) => [k, { ...axis, ...layout[k] }]));
    return {
      margin: { l: 44, r: 12, t: 8, b: 32 }, hovermode: "x unified", showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, // above: below lie the dates
      ...layout, ...axes, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: css("font-family"), size: 12, color: rgb("--yard-ink") },
      hoverlabel: { bgcolor: rgb("--yard-paper"), bordercolor: rgb("--yard-grid"), font: { color: rgb("--yard-ink") } },
    };
  };
  const draw = (box, figure) => {
    box.figure = figure;
    box.querySelector(".chart-note").hidden = true;
    const plot = box.querySelector(".chart-plot");
    const named = figure.layout?.showlegend === false ? 0 : (figure.data || []).length;
    plot.style.height = "";
    if (named > ROWS) plot.style.height = `${plot.clientHeight + (Math.min(named, MOST_ROWS) - ROWS) * ROW}px`; // the legend takes no room from the lines
    return Plotly.react(plot, resolve(figure.data), themed(figure), { displayModeBar: false, responsive: true });
  };
  const load = async (box) => {
    if (box.loading) return;
    box.loading = true;
    const note = box.querySelector(".chart-note");
    try {
      const headers = box.dataset.etag ? { "If-None-Match": box.dataset.etag } : {};
      const answer = await fetch(box.dataset.chart, { headers: { ...headers, Accept: "application/json" } });
      if (answer.status === 304) return;
      if (!answer.ok) throw new Error(`The portal answered ${answer.status}.`);
      box.dataset.etag = answer.headers.get("ETag") || "";
      const figure = await answer.json();
      if (figure.note) { note.textContent = figure.note; note.hidden = false; if (!figure.data?.length) return; }
      await draw(box, figure);
      if (figure.note) note.hidden = false;
    } catch (error) {
      note.textContent = `Could not be loaded. ${error.message}`;
      note.hidden = false;
    } finally {
      box.loading = false;
    }
  };
  const all = () => document.querySelectorAll("[data-chart]");
  const fresh = () => all().forEach((box) => box.figure || box.loading || load(box));
  fresh();
  document.body.addEventListener("htmx:afterSettle", fresh);
  document.body.addEventListener("refresh", () => all().forEach(load));
  document.addEventListener("themechange", () => all().forEach((box) => box.figure && draw(box, box.figure)));
})();
