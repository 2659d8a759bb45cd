"""The script of the 3-D preview: lines on a canvas, no library, no request; it reads its data from the page."""

SCRIPT = """
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("motion").textContent);
  const canvas = document.getElementById("view"), pen = canvas.getContext("2d");
  const slider = document.getElementById("time"), now = document.getElementById("now");
  const button = document.getElementById("play");
  slider.max = data.t.length - 1;
  let turn = 0.7, tilt = 0.35, playing = false, started = 0, from = 0;
  let reach = 0.1;
  for (const frame of data.points) for (const p of frame) reach = Math.max(reach, Math.hypot(p[0], p[1], p[2]));
  for (const box of [...data.boxes, ...data.rooms]) for (const edge of box) for (const p of edge)
    reach = Math.max(reach, 0.85 * Math.hypot(p[0], p[1], p[2]));
  const ground = data.floor === null ? 0 : data.floor;
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const scale = 0.42 * canvas.height / reach;
  function place(p) {
    const x = p[0] * Math.cos(turn) - p[1] * Math.sin(turn), y = p[0] * Math.sin(turn) + p[1] * Math.cos(turn);
    const up = p[2] * Math.cos(tilt) - y * Math.sin(tilt);
    return [canvas.width / 2 + scale * x, canvas.height / 2 - scale * up];
  }
  function line(a, b, width, style) {
    const [x1, y1] = place(a), [x2, y2] = place(b);
    pen.lineWidth = width; pen.strokeStyle = style;
    pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
  }
  function draw() {
    const k = Number(slider.value), points = data.points[k];
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.lineCap = "round";
    const soft = colour("--line"), ink = colour("--ink"), mark = colour("--mark");
    if (data.floor !== null) {
      pen.globalAlpha = 0.5; pen.fillStyle = soft; pen.beginPath();
      for (const [x, y] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) pen.lineTo(...place([x * reach, y * reach, ground]));
      pen.fill(); pen.globalAlpha = 1;
    }
    for (let s = -4; s <= 4; s++) {
      const v = s * reach / 4;
      line([v, -reach, ground], [v, reach, ground], 1, soft); line([-reach, v, ground], [reach, v, ground], 1, soft);
    }
    for (const box of data.boxes) for (const [a, b] of box) line(a, b, 1.5, colour("--warn"));
    pen.setLineDash([4, 4]);
    for (const room of data.rooms) for (const [a, b] of room) line(a, b, 1, mark);
    pen.setLineDash([]);
    const last = points.length - 1;
    for (let i = 1; i <= k; i++) line(data.points[i - 1][last], data.points[i][last], 1, mark);
    pen.globalAlpha = 0.25;
    for (const [a, b, r] of data.capsules) line(data.ends[k][a], data.ends[k][b], 2 * r * scale, mark);
    pen.globalAlpha = 1;
    for (const [a, b] of data.lines) line(points[a], points[b], 6, ink);
    for (const p of points) {
      const [x, y] = place(p);
      pen.fillStyle = mark; pen.beginPath(); pen.arc(x, y, 5, 0, 2 * Math.PI); pen.fill();
    }
    now.textContent = data.t[k].toFixed(2) + " s";
    slider.setAttribute("aria-valuetext", now.textContent);
  }
  function step(clock) {
    if (!playing) return;
    const t = from + (clock - started) / 1000, end = data.t[data.t.length - 1];
    slider.value = Math.min(data.t.length - 1, Math.round(t / end * (data.t.length - 1)));
    draw();
    if (t >= end) stop(); else requestAnimationFrame(step);
  }
  function stop() { playing = false; button.textContent = "Play"; }
  button.addEventListener("click", () => {
    if (playing) return stop();
    playing = true; button.textContent = "Pause";
    from = Number(slider.value) >= data.t.length - 1 ? 0 : data.t[Number(slider.value)];
    started = performance.now(); requestAnimationFrame(step);
  });
  slider.addEventListener("input", () => { stop(); draw(); });
  let held = null;
  canvas.addEventListener("pointerdown", e => {
    held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", e => {
    if (!held) return;
    turn += (e.clientX - held[0]) / 150; tilt = Math.max(-1.5, Math.min(1.5, tilt + (e.clientY - held[1]) / 150));
    held = [e.clientX, e.clientY]; draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
"""
