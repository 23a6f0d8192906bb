/* Self-test of book/interview.md: ticks for the points of an answer, and a score that stays in this browser.

   A question is a <section> with a list ul.points inside its <details class="answer">; the score appears in each
   .quiz-score (with the list of questions where that also has the class quiz-list). On any other page nothing happens,
   and without a script the page is plain text. Ticks are kept by the text of their point, so a changed point is a new one. */
(function () {
  "use strict";
  const KEY = "rl_lab.interview";

  function stored() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY));
      return new Set(Array.isArray(kept) ? kept : []);
    } catch { return new Set(); } // no storage here, or not ours: begin at nothing
  }
  function store(ticked) {
    try { localStorage.setItem(KEY, JSON.stringify([...ticked])); }
    catch { /* a private window: the score lives as long as the page */ }
  }
  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text) element.textContent = text;
    return element;
  }
  function label(item, id) { // turn a point into a checkbox with its text as the label
    const box = make("input"), label = make("label"), text = make("span");
    box.type = "checkbox";
    box.id = id;
    box.autocomplete = "off"; // a browser that restores forms would contradict what is stored
    text.append(...item.childNodes);
    label.append(box, text);
    item.append(label);
    return { box, name: text.textContent.trim() };
  }

  function start() {
    const panels = [...document.querySelectorAll(".quiz-score")];
    const lists = [...document.querySelectorAll("details.answer ul.points")];
    if (!panels.length || !lists.length || panels[0].dataset.quiz) return;
    panels[0].dataset.quiz = "on";

    let ticked = stored(), undo = null;
    const questions = lists.map((list, q) => {
      const section = list.closest("section"), part = make("span", "quiz-part");
      section.querySelector("summary").append(part);
      const heading = section.querySelector("h2").cloneNode(true);
      heading.querySelectorAll(".headerlink").forEach((link) => link.remove());
      return {
        title: heading.textContent.trim(), id: section.id, part,
        points: [...list.children].map((item, i) => label(item, `point-${q + 1}-${i + 1}`)),
      };
    });
    const points = questions.flatMap((question) => question.points);
    const live = make("p", "quiz-live");
    live.setAttribute("role", "status");

    const shown = panels.map((panel) => {
      const total = make("p", "quiz-total"), bar = make("progress"), reset = make("button", "quiz-reset", "Reset");
      reset.type = "button";
      bar.max = points.length;
      bar.setAttribute("aria-label", "points");
      const parts = questions.map((question) => {
        const row = make("li"), link = make("a", "", question.title), count = make("span", "quiz-part");
        link.href = "#" + question.id;
        row.append(link, count);
        return { row, count };
      });
      panel.replaceChildren(total, bar, reset);
      if (panel.classList.contains("quiz-list")) {
        const all = make("ol");
        all.append(...parts.map((part) => part.row));
        panel.append(all);
      }
      reset.addEventListener("click", () => {
        [ticked, undo] = undo ? [undo, null] : [new Set(), ticked];
        keep(undo ? "All ticks taken away; the same button brings them back." : "Ticks are back.");
      });
      return { total, bar, reset, parts };
    });
    panels[0].append(live);

    function draw() {
      const had = questions.map((question) => question.points.filter((point) => ticked.has(point.name)).length);
      const sum = had.reduce((a, b) => a + b, 0);
      points.forEach((point) => { point.box.checked = ticked.has(point.name); });
      questions.forEach((question, q) => { question.part.textContent = `${had[q]} of ${question.points.length}`; });
      shown.forEach(({ total, bar, reset, parts }) => {
        total.replaceChildren(make("strong", "", String(sum)), ` of ${points.length} points`);
        bar.value = sum;
        reset.textContent = undo ? "Undo" : "Reset";
        reset.disabled = !sum && !undo;
        parts.forEach(({ count }, q) => { count.textContent = `${had[q]} of ${questions[q].points.length}`; });
      });
      return `${sum} of ${points.length} points.`;
    }
    function keep(news) {
      store(ticked);
      live.textContent = `${news} ${draw()}`;
    }

    questions.forEach((question, q) => question.points.forEach(({ box, name }) => {
      box.addEventListener("change", () => {
        undo = null;
        if (box.checked) ticked.add(name); else ticked.delete(name);
        keep("");
        live.textContent = `Question ${q + 1}: ${question.part.textContent}. In all ${live.textContent.trim()}`;
      });
    }));
    window.addEventListener("storage", (event) => { // the same page in another tab
      if (event.key === KEY || event.key === null) { ticked = stored(); undo = null; draw(); }
    });
    draw();
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
