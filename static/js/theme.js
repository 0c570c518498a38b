// Sets the theme before the first paint: light, dark, or auto (as the system says). The choice is kept.
"use strict";
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; }
  };
  const apply = () => {
    const choice = kept();
    const theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    document.documentElement.dataset.bsTheme = theme;
    document.documentElement.dataset.themeChoice = choice;
    document.dispatchEvent(new Event("themechange"));
  };
  apply();
  system.addEventListener("change", apply);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set-theme]");
    if (!button) return;
    try { localStorage.setItem("theme", button.dataset.setTheme); } catch { /* then for this page only */ }
    document.documentElement.dataset.themeChoice = button.dataset.setTheme;
    apply();
  });
})();
