// The page's half of rl_lab.explore: wakes the controls of every figure and redraws from the frames packed into the page.
// No dependency, no request, works from file://. Loaded once by the site, or carried by the figures themselves; it guards
// itself against a second copy. The first part draws and is the twin of _numbers.py, _svg.py and _html.py, character for
// character (tests/explore/test_parity.py); the second part unpacks and listens.
(function () {
  "use strict";
  const page = typeof window !== "undefined" ? window : null;
  if (page && page.rlLabExplore) { page.rlLabExplore.mountAll(); return; }

  // ---------------------------------------------------------------- numbers (twin of _numbers.py)

  const MISSING = "–";

  function escapeHtml(text) {
    return String(text).replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" }[c]));
  }

  function fixed(value, decimals) {
    const text = value.toFixed(decimals);
    return /^-[0.]*$/.test(text) ? text.slice(1) : text;
  }

  function exponent(value) { return Number(value.toExponential().split("e")[1]); }

  function power10(e) { return Number("1e" + e); }

  function group(text) {
    const [whole, decimals] = text.split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return decimals === undefined ? grouped : grouped + "." + decimals;
  }

  function stripZeros(text) { return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text; }

  function numberText(value, decimals) {
    if (value === null || value === undefined) return MISSING;
    if (decimals !== null && decimals !== undefined) return group(fixed(value, decimals));
    const size = Math.abs(value);
    if (size < 1e15 && value === Math.floor(value)) return group(fixed(value, 0));
    const e = exponent(value);
    if (e < -4 || size >= 1e15) return scientific(value, e);
    return group(stripZeros(fixed(value, Math.max(0, 3 - e))));
  }

  function scientific(value, e) {
    const mantissa = e < 0 ? value * power10(-e) : value / power10(e);
    return stripZeros(fixed(mantissa, 2)) + "e" + e;
  }

  function times(m, e) { return e >= 0 ? m * power10(e) : m / power10(-e); }

  function niceStep(low, high, count, whole) {
    const raw = (high - low) / count;
    let e = exponent(raw);
    const f = raw / power10(e);
    let m = f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10;
    if (m === 10) { m = 1; e += 1; }
    return whole && e < 0 ? [1, 0] : [m, e];
  }

  function multiple(k, m, e) { return e < 0 ? k * m / power10(-e) : k * m * power10(e); }

  function ticks(low, high, count, whole) {
    if (!(high > low)) return [[low], 0];
    const [m, e] = niceStep(low, high, count, whole), step = multiple(1, m, e), out = [];
    for (let k = Math.ceil(low / step - 1e-9); multiple(k, m, e) <= high + step * 1e-9; k++) out.push(multiple(k, m, e));
    return [out, Math.max(0, -e)];
  }

  function logTicks(low, high, count) {
    const a = exponent(low), b = exponent(high), every = Math.max(1, Math.ceil((b - a) / count)), out = [];
    const steps = (b - a) * 2 <= count ? [1, 2, 5] : [1];
    for (let e = a; e <= b; e += every) for (const m of steps) out.push(times(m, e));
    return out.filter((t) => low * 0.999999 <= t && t <= high * 1.000001);
  }

  function tickTexts(values, decimals, log) {
    if (log) return values.map((t) => shortText(t, Math.abs(t)));
    const top = Math.max(...values.map(Math.abs));
    if (top >= 1e6) return values.map((t) => shortText(t, top));
    if (top < 1e-3 && top > 0) return values.map((t) => numberText(t));
    return values.map((t) => group(fixed(t, decimals)));
  }

  function shortText(value, top) {
    if (value === 0) return "0";
    for (const [limit, suffix] of [[1e12, "T"], [1e9, "B"], [1e6, "M"]]) {
      if (limit <= top && top < 1e15) return numberText(value / limit) + suffix;
    }
    return numberText(value);
  }

  function px(value) { return String(Math.floor(value * 10 + 0.5) / 10); }

  function textWidth(text, size) {
    let sum = 0;
    for (const c of text) sum += c >= "\u2e80" ? 1.0 : ".,:;'|!il ".includes(c) ? 0.3 : 0.57;
    return size * sum;
  }

  // ---------------------------------------------------------------- picture (twin of _layout.py and _svg.py)

  const SIZE = 12, Y_TICKS = 4, NARROW = 480, DASHES = ["", "7 4", "2 4", "10 3 2 3", "4 2", "1 3"];

  function draw(spec, frame, width) {
    spec = fitted(spec, frame);
    const box = layout(spec, width), out = [];
    yAxis(spec, box, out);
    xAxis(spec, box, out);
    const x = px(box.left - 7), y = px(box.top - 7), w = px(box.right - box.left + 14), h = px(box.bottom - box.top + 14);
    out.push(`<svg x="${x}" y="${y}" width="${w}" height="${h}" viewBox="${x} ${y} ${w} ${h}">`);
    bars(spec, frame, box, out);
    cutLine(spec, frame, box, out);
    spec.series.forEach((s, k) => { if (s.kind === "line") line(spec, frame, box, k, out); });
    out.push("</svg>");
    barLabels(spec, frame, box, out);
    spec.series.forEach((s, k) => { if (s.kind === "point") point(spec, frame, box, k, out); });
    return [box.height, out.join("")];
  }

  function layout(spec, width) {
    const narrow = width < NARROW, { x, y } = spec;
    const [yTicks, yTexts] = axisTicks(y, narrow ? Y_TICKS - 1 : Y_TICKS);
    const left = 12 + Math.max(...yTexts.map((t) => textWidth(t, SIZE))), top = y.label ? 32 : 14;
    const bottom = top + spec.tall * (narrow ? 0.8 : 1);
    const box = { narrow, left, top, bottom, right: width - 14, width, yTicks, yTexts };
    placeX(spec, box);
    box.height = Math.ceil(bottom + box.under + (x.label ? 22 : 4));
    return box;
  }

  function fitted(spec, frame) {
    if (!spec.y.follow) return spec;
    return { ...spec, y: { ...spec.y, lim: limits(heights(spec.series, frame.y), spec.series, spec.y.log) } };
  }

  function heights(series, y) {
    const out = [], piles = new Map();
    series.forEach((s, k) => {
      const values = y[k];
      if (s.kind === "point") { if (values !== null) out.push(values[1]); return; }
      values.forEach((value, i) => {
        if (value === null) return;
        if (s.kind !== "stack") { out.push(value); return; }
        if (!piles.has(i)) piles.set(i, [0, 0]);
        piles.get(i)[value > 0 ? 0 : 1] += value;
      });
    });
    for (const pile of piles.values()) out.push(...pile);
    return out;
  }

  function limits(values, series, log) {
    let low = values.length ? Math.min(...values) : 0.1;
    const high = values.length ? Math.max(...values) : 1, drawn = series.map((s) => s.kind);
    if (log) return niceLogLimits(low, high);
    if (low < 0 && drawn.includes("bar")) low -= 0.1 * (Math.max(high, 0) - low);
    return niceLimits(low, high, drawn.includes("bar") || drawn.includes("stack"));
  }

  function niceLimits(low, high, fromZero) {
    if (low > 0 && (fromZero || low < 0.5 * high)) low = 0;
    if (high < 0 && (fromZero || high > 0.5 * low)) high = 0;
    if (!(high > low)) [low, high] = low ? [low - 1, high + 1] : [0, 1];
    const [m, e] = niceStep(low, high, Y_TICKS, false), half = multiple(1, m, e) / 2;
    return [Math.floor(low / half + 1e-4) * half, Math.ceil(high / half - 1e-4) * half];
  }

  function niceLogLimits(low, high) {
    const a = exponent(low), b = exponent(high);
    const below = Math.max(...[1, 2, 5].map((m) => times(m, a)).filter((v) => v <= low * 1.000001));
    const above = Math.min(...[1, 2, 5, 10].map((m) => times(m, b)).filter((v) => v >= high * 0.999999));
    return above > below ? [below, above] : [below / 2, above * 2];
  }

  function axisTicks(axis, count) {
    const [low, high] = axis.lim;
    if (axis.log) { const values = logTicks(low, high, count); return [values, tickTexts(values, 0, true)]; }
    const [values, decimals] = ticks(low, high, count, axis.whole);
    return [values, tickTexts(values, decimals, false)];
  }

  function placeX(spec, box) {
    const x = spec.x, room = box.right - box.left;
    if (x.kind === "category") {
      box.slot = room / x.values.length;
      box.wrapped = wrapAll(x.values, box.slot - 6, 3);
      if (box.wrapped) { box.under = 8 + 15 * Math.max(...box.wrapped.map((lines) => lines.length)); return; }
      const shown = x.values.map((t) => shorten(t, 18));
      box.tilted = shown;
      box.under = 14 + 0.64 * Math.max(...shown.map((t) => textWidth(t, SIZE)));
      const over = 0.77 * textWidth(shown[0], SIZE) - box.left - box.slot / 2 + 4;
      if (over > 0) { box.left += over; box.slot = (box.right - box.left) / x.values.length; }
      return;
    }
    box.under = 23;
    box.slot = x.gap * room;
    [box.xTicks, box.xTexts] = xTicks(x, box);
    if (box.xTexts.length) box.right -= Math.max(0, textWidth(box.xTexts[box.xTexts.length - 1], SIZE) / 2 - 12);
  }

  function xTicks(x, box) {
    const room = box.right - box.left;
    for (const stride of x.log ? [1, 2, 3, 4] : [1]) {
      const own = x.values.filter((_, i) => i % stride === 0);
      if (own.length <= 12 && fits(x, own, room)) return [own, own.map((v) => numberText(v))];
    }
    return axisTicks(x, Math.max(2, Math.floor(room / (box.narrow ? 70 : 84))));
  }

  function fits(axis, values, room) {
    const places = values.map((v) => position(axis, v, 0, room));
    const half = values.map((v) => textWidth(numberText(v), SIZE) / 2 + 5);
    return places.every((p, i) => !i || p - places[i - 1] >= half[i - 1] + half[i]);
  }

  function wrapAll(labels, room, most) {
    const out = [];
    for (const label of labels) {
      const lines = [""];
      for (const word of label.split(" ")) {
        if (textWidth(word, SIZE) > room) return null;
        const last = lines[lines.length - 1], longer = last ? last + " " + word : word;
        if (textWidth(longer, SIZE) <= room) lines[lines.length - 1] = longer; else lines.push(word);
      }
      if (lines.length > most) return null;
      out.push(lines);
    }
    return out;
  }

  function shorten(text, most) {
    const letters = Array.from(text);
    return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
  }

  function position(axis, value, start, end) {
    let [low, high] = axis.lim;
    if (axis.log) { low = Math.log10(low); high = Math.log10(high); value = Math.log10(value); }
    const share = (value - low) / (high - low);
    return start + Math.min(Math.max(share, -20), 20) * (end - start);
  }

  function xAt(spec, box, value) {
    return spec.x.kind === "category" ? box.left + box.slot * (value + 0.5) : position(spec.x, value, box.left, box.right);
  }

  function yAt(spec, box, value) { return position(spec.y, value, box.bottom, box.top); }

  function yAxis(spec, box, out) {
    box.yTicks.forEach((value, i) => {
      const y = yAt(spec, box, value), kind = value === 0 ? "xp-zero" : "xp-grid";
      out.push(`<line class="${kind}" x1="${px(box.left)}" x2="${px(box.right)}" y1="${px(y)}" y2="${px(y)}"/>`
        + `<text x="${px(box.left - 8)}" y="${px(y + 4)}" text-anchor="end">${escapeHtml(box.yTexts[i])}</text>`);
    });
    if (spec.y.label) out.push(`<text class="xp-axis" x="0" y="13">${escapeHtml(spec.y.label)}</text>`);
  }

  function xAxis(spec, box, out) {
    const x = spec.x, base = box.bottom;
    if (x.kind === "category") categoryLabels(spec, box, out);
    else {
      out.push(`<line class="xp-grid" x1="${px(box.left)}" x2="${px(box.right)}" y1="${px(base)}" y2="${px(base)}"/>`);
      box.xTicks.forEach((value, i) => {
        const at = px(xAt(spec, box, value));
        out.push(`<line class="xp-tick" x1="${at}" x2="${at}" y1="${px(base)}" y2="${px(base + 5)}"/>`
          + `<text x="${at}" y="${px(base + 19)}" text-anchor="middle">${escapeHtml(box.xTexts[i])}</text>`);
      });
    }
    if (x.label) {
      out.push(`<text class="xp-axis" x="${px((box.left + box.right) / 2)}" y="${px(box.height - 5)}" text-anchor="middle">`
        + `${escapeHtml(x.label)}</text>`);
    }
  }

  function categoryLabels(spec, box, out) {
    for (let i = 0; i < spec.x.values.length; i++) {
      const at = xAt(spec, box, i), base = box.bottom;
      if (box.wrapped) box.wrapped[i].forEach((text, j) => {
        out.push(`<text x="${px(at)}" y="${px(base + 19 + 15 * j)}" text-anchor="middle">${escapeHtml(text)}</text>`);
      });
      else out.push(`<text transform="translate(${px(at + 4)} ${px(base + 14)}) rotate(-40)" text-anchor="end">`
        + `${escapeHtml(box.tilted[i])}</text>`);
    }
  }

  function columns(spec) {
    const side = [], stack = [];
    spec.series.forEach((s, k) => { if (s.kind === "bar") side.push(k); if (s.kind === "stack") stack.push(k); });
    return [side, stack];
  }

  function barPlaces(spec, box, i) {
    const [side, stack] = columns(spec), count = side.length + (stack.length ? 1 : 0);
    const wide = Math.min(64, box.slot * 0.78 / count), value = spec.x.kind === "category" ? i : spec.x.values[i];
    return [xAt(spec, box, value) - wide * count / 2, wide];
  }

  function baseline(spec) {
    const [low, high] = spec.y.lim;
    return spec.y.log ? low : Math.min(Math.max(0, low), high);
  }

  function bars(spec, frame, box, out) {
    const [side, stack] = columns(spec), foot = baseline(spec);
    if (!side.length && !stack.length) return;
    for (let i = 0; i < spec.x.values.length; i++) {
      const [left, wide] = barPlaces(spec, box, i);
      side.forEach((k, j) => bar(spec, box, k, left + j * wide, wide, foot, frame.y[k][i], out));
      let up = 0, down = 0;
      for (const k of stack) {
        const value = frame.y[k][i], at = left + side.length * wide;
        if (value > 0) { bar(spec, box, k, at, wide, up, up + value, out); up += value; }
        else if (value < 0) { bar(spec, box, k, at, wide, down, down + value, out); down += value; }
      }
    }
  }

  function bar(spec, box, k, left, wide, foot, value, out) {
    if (value === null) return;
    const a = yAt(spec, box, foot), b = yAt(spec, box, value), gap = wide > 5 ? 1 : 0;
    out.push(`<rect class="xp-bar xp-s${k % 6}" x="${px(left + gap)}" y="${px(Math.min(a, b))}" `
      + `width="${px(wide - 2 * gap)}" height="${px(Math.abs(a - b))}"/>`);
  }

  function barLabels(spec, frame, box, out) {
    const [side, stack] = columns(spec), count = spec.x.values.length, foot = baseline(spec), labels = [];
    if (!side.length || stack.length || count * side.length > 16) return;
    for (let i = 0; i < count; i++) {
      const [left, wide] = barPlaces(spec, box, i), room = side.length === 1 ? box.slot - 4 : wide + 2;
      for (let j = 0; j < side.length; j++) {
        const k = side[j], value = frame.y[k][i];
        if (value === null) continue;
        const text = numberText(value, spec.series[k].decimals);
        if (textWidth(text, SIZE) > room) return;
        let y = yAt(spec, box, value) + (value >= foot ? -5 : 14);
        y = Math.min(Math.max(y, box.top - 5), box.bottom - 4);
        labels.push(`<text class="xp-worth" x="${px(left + (j + 0.5) * wide)}" y="${px(y)}" text-anchor="middle">`
          + `${escapeHtml(text)}</text>`);
      }
    }
    out.push(...labels);
  }

  function line(spec, frame, box, k, out) {
    const runs = spots(spec, frame, box, k), dash = DASHES[k % 6] ? ` stroke-dasharray="${DASHES[k % 6]}"` : "";
    const tone = `class="xp-line xp-s${k % 6}"${dash}`;
    if (frame.cut !== undefined && frame.cut !== null) {
      const end = xAt(spec, box, frame.cut);
      paths(runs, `class="xp-line xp-later xp-s${k % 6}"${dash}`, out);
      const past = runs.map((run) => run.filter((p) => p[0] <= end + 1e-6)).filter((run) => run.length);
      paths(past, tone, out);
      if (past.length) { const last = past[past.length - 1]; marker(k, last[last.length - 1], 4, out); }
      return;
    }
    paths(runs, tone, out);
    const count = runs.reduce((n, run) => n + run.length, 0);
    for (const run of runs) for (const spot of run) if (count <= 24 || run.length === 1) marker(k, spot, 3.5, out);
  }

  function spots(spec, frame, box, k) {
    const values = frame.y[k], runs = [[]], xs = spec.series[k].x || spec.x.values, category = spec.x.kind === "category";
    values.forEach((value, i) => {
      if (value === null) runs.push([]);
      else runs[runs.length - 1].push([xAt(spec, box, category ? i : xs[i]), yAt(spec, box, value)]);
    });
    return runs.filter((run) => run.length);
  }

  function paths(runs, attributes, out) {
    const steps = runs.filter((run) => run.length > 1).map((run) => "M" + run.map((p) => px(p[0]) + " " + px(p[1])).join("L"));
    if (steps.length) out.push(`<path ${attributes} d="${steps.join("")}"/>`);
  }

  function marker(k, [x, y], r, out) {
    const tone = `class="xp-mark xp-s${k % 6}"`, s = r * 0.9;
    if (k % 6 === 0) { out.push(`<circle ${tone} cx="${px(x)}" cy="${px(y)}" r="${px(r)}"/>`); return; }
    const shape = [
      [[-s, -s], [s, -s], [s, s], [-s, s]],
      [[0, -r * 1.2], [r * 1.15, r * 0.85], [-r * 1.15, r * 0.85]],
      [[0, -r * 1.3], [r * 1.3, 0], [0, r * 1.3], [-r * 1.3, 0]],
      [[0, r * 1.2], [r * 1.15, -r * 0.85], [-r * 1.15, -r * 0.85]],
      [[-r * 1.3, -r * 0.5], [r * 1.3, -r * 0.5], [r * 1.3, r * 0.5], [-r * 1.3, r * 0.5]],
    ][k % 6 - 1];
    out.push(`<path ${tone} d="M${shape.map(([dx, dy]) => px(x + dx) + " " + px(y + dy)).join("L")}Z"/>`);
  }

  function point(spec, frame, box, k, out) {
    const spot = frame.y[k];
    if (spot === null) return;
    const x = xAt(spec, box, spot[0]), y = yAt(spec, box, spot[1]);
    if (!(box.left - 1 <= x && x <= box.right + 1 && box.top - 1 <= y && y <= box.bottom + 1)) return;
    const name = spec.series[k].label, right = x + 12 + textWidth(name, SIZE) <= box.right;
    marker(k, [x, y], 6, out);
    out.push(`<text class="xp-name" x="${px(x + (right ? 12 : -12))}" y="${px(y - 8)}" `
      + `text-anchor="${right ? "start" : "end"}">${escapeHtml(name)}</text>`);
  }

  function cutLine(spec, frame, box, out) {
    if (frame.cut === undefined || frame.cut === null) return;
    const x = px(xAt(spec, box, frame.cut));
    out.push(`<line class="xp-now" x1="${x}" x2="${x}" y1="${px(box.top)}" y2="${px(box.bottom)}"/>`);
  }

  // ---------------------------------------------------------------- tables (twin of _html.py)

  function tableRows(spec, frame) {
    const cell = (c, t) => `<td${c.number ? ' class="xp-n"' : ""}>${escapeHtml(t)}</td>`;
    return frame.table.map((row) => "<tr>" + row.map((t, i) => cell(spec.columns[i], t)).join("") + "</tr>").join("");
  }

  function numberRows(spec, frame) {
    const drawn = spec.series.map((s, k) => [k, s]).filter(([, s]) => s.kind !== "point"), x = spec.x;
    const head = drawn.map(([, s]) => `<th scope="col" class="xp-n">${escapeHtml(s.label + (s.unit ? ` (${s.unit})` : ""))}</th>`);
    const out = [`<thead><tr><th scope="col">${escapeHtml(x.label || "x")}</th>${head.join("")}</tr></thead><tbody>`];
    x.values.forEach((v, i) => {
      const cells = drawn.map(([k, s]) => `<td class="xp-n">${numberText(frame.y[k][i], s.decimals)}</td>`).join("");
      out.push(`<tr><th scope="row">${escapeHtml(typeof v === "string" ? v : numberText(v))}</th>${cells}</tr>`);
    });
    spec.series.forEach((s, k) => {
      if (s.kind !== "point") return;
      out.push(`<tr><th scope="row">${escapeHtml(s.label)}</th>`
        + `<td colspan="${Math.max(1, drawn.length)}">${escapeHtml(pointText(spec, frame.y[k], s.decimals))}</td></tr>`);
    });
    return out.join("") + "</tbody>";
  }

  function pointText(spec, spot, decimals) {
    if (spot === null) return "not in the picture";
    const named = spec.x.kind === "category" && Number.isInteger(spot[0]) && spec.x.values[spot[0]] !== undefined;
    return `at ${named ? spec.x.values[spot[0]] : numberText(spot[0])}: ${numberText(spot[1], decimals)}`;
  }

  // ---------------------------------------------------------------- unpacking (twin of _pack.py)

  const GAP = 65535, LEVELS = 65534;

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }

  function words(text) {                       // little-endian, whatever the machine is
    const b = bytes(text), out = new Uint16Array(b.length / 2);
    for (let i = 0; i < out.length; i++) out[i] = b[2 * i] | (b[2 * i + 1] << 8);
    return out;
  }

  function itemReader(packed) {
    const at = packed.at ? words(packed.at) : null;
    return (c) => packed.items[at ? at[c] : 0];
  }

  function rowReader(packed) {
    const at = packed.at ? words(packed.at) : null, codes = packed.u8 ? bytes(packed.u8) : words(packed.u16);
    const { n, values, low, high } = packed;
    const read = values ? (v) => values[v] : (v) => (v === GAP ? null : low + v / LEVELS * (high - low));
    return (c) => {
      const from = (at ? at[c] : 0) * n, row = new Array(n);
      for (let i = 0; i < n; i++) row[i] = read(codes[from + i]);
      return row;
    };
  }

  function seriesReader(packed) {
    if (!packed.point) return rowReader(packed);
    const [across, up] = packed.point.map(rowReader);
    return (c) => { const x = across(c)[0]; return x === null ? null : [x, up(c)[0]]; };
  }

  function frameReader(data) {
    const y = data.frames.y.map(seriesReader), read = data.frames.read.map(itemReader);
    const table = data.frames.table ? itemReader(data.frames.table) : () => [];
    return (c) => ({ y: y.map((f) => f(c)), read: read.map((f) => f(c)), table: table(c) });
  }

  // ---------------------------------------------------------------- the page

  function mountExplore(root, data) {
    const all = (q) => Array.from(root.querySelectorAll(q)), one = (q) => root.querySelector(q);
    const at = data.controls.map((c) => c.start);
    const holder = one(".xp-picture"), svg = holder && holder.querySelector("svg"), values = all(".xp-reads dd");
    const body = one(".xp-table tbody"), numbers = one(".xp-numbers"), say = one(".xp-say"), given = one(".xp-given");
    const rows = all(".xp-control"), wide = holder && watchWidth(holder, paint);
    let read = null, frame = null, speaking = 0;

    function combination() { return data.controls.reduce((c, control, k) => c * control.texts.length + at[k], 0); }
    function look() { read = read || frameReader(data); frame = read(combination()); }
    function paint() {
      if (!frame) look();
      const width = Math.max(240, wide() || 640), [height, inner] = draw(data, frame, width);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.innerHTML = inner;
    }
    function fillNumbers() {
      if (!numbers || !numbers.open) return;
      if (!frame) look();
      numbers.querySelector("table").innerHTML = numberRows(data, frame);
    }
    function update() {
      look();
      if (svg) paint();
      values.forEach((node, k) => { node.textContent = frame.read[k]; });
      if (body) body.innerHTML = tableRows(data, frame);
      fillNumbers();
      if (given) given.textContent = data.controls.map((c, k) => `${c.label}: ${c.texts[at[k]]}`).join(" · ");
    }
    function speak() {                          // when the hand rests, not on every step of a drag
      clearTimeout(speaking);
      speaking = setTimeout(() => { say.textContent = data.reads.map((r, k) => `${r.label}: ${frame.read[k]}`).join("; "); }, 700);
    }
    function show(k) {                          // put control k where at[k] says
      const kind = data.controls[k].kind, inputs = Array.from(rows[k].querySelectorAll("input, select"));
      inputs.forEach((input, i) => { input.disabled = false; if (kind === "choice" && input.type === "radio") input.checked = i === at[k]; });
      if (kind === "check") inputs[0].checked = at[k] === 1;
      else if (kind === "choice" && inputs[0].type !== "radio") inputs[0].value = String(at[k]);
      if (kind === "range") {
        const text = data.controls[k].texts[at[k]];
        setSlider(inputs[0], at[k], at[k] / (data.controls[k].texts.length - 1), text);
        rows[k].querySelector(".xp-value").textContent = text;
      }
    }
    rows.forEach((row, k) => {
      row.addEventListener("input", (event) => {
        const input = event.target;
        at[k] = input.type === "checkbox" ? Number(input.checked) : Number(input.value);
        show(k);
        update();
        speak();
      });
      show(k);                                 // browsers restore form values on reload; the picture starts at its start
    });
    const reset = one(".xp-reset");
    if (reset) {
      reset.disabled = false;
      reset.addEventListener("click", () => { data.controls.forEach((c, k) => { at[k] = c.start; show(k); }); update(); speak(); });
    }
    if (numbers) { numbers.addEventListener("toggle", fillNumbers); offerCopy(numbers); }
  }

  // ---------------------------------------------------------------- copying a table

  function csvText(rows) {                      // rows of cell texts; numbers as a spreadsheet reads them, a gap is empty
    const plain = (t) => (t === MISSING ? "" : /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(t) ? t.replace(/,/g, "") : t);
    const field = (t) => (/[",\r\n]/.test(t) ? `"${t.replace(/"/g, '""')}"` : t);
    return rows.map((row) => row.map((t) => field(plain(t))).join(",") + "\n").join("");
  }

  function copyText(text) {                     // plain http has no clipboard API, and a browser may refuse it
    const byHand = () => {
      const area = document.createElement("textarea");
      area.value = text;
      area.style.cssText = "position: fixed; opacity: 0";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    };
    const clipboard = page.navigator.clipboard;
    return clipboard ? clipboard.writeText(text).then(() => true, byHand) : Promise.resolve(byHand());
  }

  function offerCopy(numbers) {
    const row = document.createElement("p"), button = document.createElement("button"), said = document.createElement("span");
    row.className = "xp-copy";
    button.type = "button";
    button.textContent = "Copy as CSV";
    said.setAttribute("role", "status");
    row.append(button, said);
    numbers.querySelector(".xp-scroll").after(row);
    button.addEventListener("click", async () => {
      const rows = Array.from(numbers.querySelectorAll("tr"), (tr) => Array.from(tr.cells, (cell) => cell.textContent));
      said.textContent = "";
      const done = await copyText(csvText(rows));
      button.focus();
      said.textContent = done ? `Copied ${rows.length} lines.` : "The browser did not allow it: select the table and copy it.";
    });
  }

  function setSlider(input, value, share, text) {
    input.value = String(value);
    input.setAttribute("aria-valuetext", text);
    input.style.setProperty("--at", share);     // how far the rail is filled
  }

  // A page holds each picture already, so a figure is drawn when the browser says how wide it is, which it does before it
  // shows it. To ask a node for its width would make the browser lay out the whole page, once for each figure.
  function watchWidth(node, paint) {
    let width = 0;
    const seen = (now) => { if (now && now !== width) { width = now; paint(); } };
    if (typeof ResizeObserver === "undefined") page.addEventListener("resize", () => seen(node.clientWidth));
    else new ResizeObserver((entries) => seen(Math.round(entries[entries.length - 1].contentRect.width))).observe(node);
    return () => width || node.clientWidth;
  }

  // ---------------------------------------------------------------- replay (twin of _replay.py)

  const MOST_SAMPLES = 4;

  function valueAt(panel, k, step) {
    const series = panel.spec.series[k];
    let i = -1;
    while (i + 1 < series.x.length && series.x[i + 1] <= step) i++;
    const value = i >= 0 ? panel.y[k][i] : null, text = numberText(value, series.decimals);
    return value === null || !panel.spec.unit ? text : text + " " + panel.spec.unit;
  }

  function sampleCards(film, step) {
    const cards = [];
    for (const run of film.runs) {
      const near = nearest(run.samples, step);
      for (const sample of near.slice(0, MOST_SAMPLES)) cards.push(card(sample, film.runs.length > 1 ? run.name : "", film.x_label));
      if (near.length > MOST_SAMPLES) cards.push(`<p class="xp-more">and ${near.length - MOST_SAMPLES} more recorded at this step</p>`);
    }
    return cards.join("");
  }

  function nearest(samples, step) {
    let best = null;
    for (const s of samples) if (best === null || Math.abs(s.step - step) < Math.abs(best - step)) best = s.step;
    return samples.filter((s) => s.step === best);
  }

  function card(sample, run, xLabel) {
    const head = run ? [run] : [];
    head.push(`${xLabel} ${numberText(sample.step)}`);
    if (sample.reward !== null) head.push(`reward ${numberText(sample.reward)}`);
    const prompt = sample.prompt ? `<p class="xp-prompt">${escapeHtml(sample.prompt)}</p>` : "";
    return `<div class="xp-sample"><p class="xp-who">${escapeHtml(head.join(" · "))}</p>${prompt}`
      + `<p class="xp-text">${escapeHtml(sample.completion)}</p></div>`;
  }

  function mountReplay(root, film) {
    const panels = Array.from(root.querySelectorAll(".xp-panel")), samples = root.querySelector(".xp-samples");
    const input = root.querySelector("input"), value = root.querySelector(".xp-value"), play = root.querySelector(".xp-play");
    const given = root.querySelector(".xp-given"), say = root.querySelector(".xp-say"), last = film.steps.length - 1;
    const wide = panels.length ? watchWidth(panels[0].querySelector(".xp-picture"), paint) : null;
    let at = film.start, timer = 0, speaking = 0;

    function paint() {
      const width = Math.max(220, wide() || 320);
      film.panels.forEach((panel, i) => {
        const holder = panels[i].querySelector(".xp-picture"), svg = holder.firstElementChild;
        const [height, inner] = draw(panel.spec, { y: panel.y, cut: film.steps[at] }, width);
        svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        svg.innerHTML = inner;
        panels[i].querySelectorAll(".xp-at b").forEach((b, k) => { b.lastChild.textContent = valueAt(panel, k, film.steps[at]); });
      });
    }
    function go(to) {
      at = to;
      setSlider(input, at, at / last, film.texts[at]);
      value.textContent = film.texts[at];
      given.textContent = `${film.x_label} ${film.texts[at]}`;
      paint();
      if (samples) samples.innerHTML = sampleCards(film, film.steps[at]);
    }
    function speak() {
      clearTimeout(speaking);
      speaking = setTimeout(() => {
        const read = film.panels.map((p) => `${p.spec.label}: ` + film.runs.map((r, k) =>
          (film.runs.length > 1 ? r.name + " " : "") + valueAt(p, k, film.steps[at])).join(", "));
        say.textContent = `${film.x_label} ${film.texts[at]}. ` + read.join("; ");
      }, 700);
    }
    function stop() { clearInterval(timer); timer = 0; play.textContent = "Play"; }
    function start() {                          // about ten seconds; in big steps where motion is unwelcome
      const calm = page.matchMedia && page.matchMedia("(prefers-reduced-motion: reduce)").matches;
      const stride = Math.max(1, Math.ceil(last / (calm ? 8 : 120))), pause = calm ? 1200 : Math.max(60, 9000 / Math.ceil(last / stride));
      if (at === last) go(0);
      play.textContent = "Pause";
      timer = setInterval(() => { go(Math.min(last, at + stride)); if (at === last) { stop(); speak(); } }, pause);
    }
    input.disabled = play.disabled = false;
    input.addEventListener("input", () => { if (timer) stop(); go(Number(input.value)); speak(); });
    play.addEventListener("click", () => { if (timer) { stop(); speak(); } else start(); });
    setSlider(input, at, at / last, film.texts[at]);
  }

  // ---------------------------------------------------------------- trajectory (twin of _trajectory.py)

  function mountTrajectory(root, data) {
    const input = root.querySelector("input"), value = root.querySelector(".xp-value"), say = root.querySelector(".xp-say");
    const back = root.querySelector(".xp-prev"), next = root.querySelector(".xp-next");
    const columns = Array.from(root.querySelectorAll(".xp-episode"), (node) => ({
      total: node.querySelector(".xp-total"), turns: Array.from(node.querySelectorAll(".xp-turn")),
    }));
    if (!input) return;
    function go(n, aloud) {
      const shown = Math.min(Math.max(n, 1), data.turns), text = `${shown} of ${data.turns}`, fresh = [];
      for (const { total, turns } of columns) {
        turns.forEach((turn, i) => {
          turn.classList.toggle("xp-hidden", i >= shown);
          turn.classList.toggle("xp-new", i === shown - 1);
          if (i >= shown) turn.setAttribute("aria-hidden", "true"); else turn.removeAttribute("aria-hidden");
          if (i === shown - 1) fresh.push(turn.textContent);
        });
        total.textContent = turns[Math.min(shown, turns.length) - 1].dataset.total;
      }
      setSlider(input, shown, (shown - 1) / (data.turns - 1), text);
      value.textContent = text;
      back.disabled = shown === 1;
      next.disabled = shown === data.turns;
      if (aloud) say.textContent = `turn ${text}. ${fresh.join(". ")}`;
    }
    input.disabled = false;
    input.addEventListener("input", () => go(Number(input.value), false));
    back.addEventListener("click", () => go(Number(input.value) - 1, true));
    next.addEventListener("click", () => go(Number(input.value) + 1, true));
    go(1, false);
  }

  const KINDS = { explore: mountExplore, replay: mountReplay, trajectory: mountTrajectory };

  function mount(root) {
    if (root.dataset.xpOn || !KINDS[root.dataset.xp]) return;
    const holder = document.querySelector(`script.xp-data[data-for="${root.id}"]`);
    if (!holder) return;
    root.dataset.xpOn = "1";
    root.classList.add("xp-on");
    try { KINDS[root.dataset.xp](root, JSON.parse(holder.textContent)); }
    catch (error) { console.error(`figure ${root.id}:`, error); }   // one broken figure must not stop the others
  }

  function mountAll() { document.querySelectorAll(".xp[data-xp]").forEach(mount); }

  const api = { mountAll, draw, numberText, ticks, logTicks, tickTexts, textWidth, tableRows, numberRows, frameReader, valueAt, sampleCards, csvText };
  if (typeof module !== "undefined" && module.exports) { module.exports = api; return; }
  page.rlLabExplore = api;
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mountAll);
  else mountAll();
})();
