// Before anything is painted: the theme chosen last time, and that scripts run.
(() => {
  "use strict";
  const root = document.documentElement;
  root.dataset.js = "on";
  try {
    const theme = localStorage.getItem("rag-report-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // No storage for files in this browser: the system's theme it is.
  }
})();
