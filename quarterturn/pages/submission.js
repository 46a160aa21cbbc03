// Loads the page of a submission anew when the service says that it has changed. Without it there is the page's link.

"use strict";

(() => {
  const live = document.getElementById("live");
  if (live === null) return;
  let stream = null;

  function look(event) {
    const { state, place } = JSON.parse(event.data);
    if (`${state} ${place}` === live.dataset.shown) return;
    stream.close();
    location.reload();
  }

  function follow() {
    if (document.hidden || stream !== null) return;
    stream = new EventSource(live.dataset.events);
    stream.addEventListener("submission", look);
    stream.addEventListener("open", () => (live.textContent = live.dataset.says));
    stream.addEventListener("error", () => (live.textContent = ""));
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) follow();
    else if (stream !== null) {
      stream.close();
      stream = null;
    }
  });
  follow();
})();
