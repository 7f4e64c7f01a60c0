// Runs in the page before anything else, and notes when what happened, in milliseconds since the navigation began:
// keys, messages over the websocket, and drawings on the charts. A drawing counts from when its frame was presented.
(() => {
  const CHART = '[data-testid="stVegaLiteChart"]';
  const MAIN = '[data-testid="stMain"]';
  const bench = (window.bench = { firstChart: null, firstHeading: null, lastChange: 0 });

  bench.reset = () => {
    Object.assign(bench, { pressed: null, sent: null, lastReceived: null, bytesIn: 0, bytesOut: 0 });
    bench.drawn = new Map(); // chart -> when its last drawing was on the screen
    bench.lastActivity = performance.now();
  };
  bench.reset();

  addEventListener("keydown", (event) => (bench.pressed ??= event.timeStamp), true);

  const sizeOf = (data) => data.byteLength ?? data.size ?? data.length;
  const Native = window.WebSocket;
  window.WebSocket = class extends Native {
    constructor(...all) {
      super(...all);
      this.addEventListener("message", (event) => {
        bench.bytesIn += sizeOf(event.data);
        bench.lastReceived = bench.lastActivity = performance.now();
      });
    }
    send(data) {
      bench.bytesOut += sizeOf(data);
      bench.sent ??= performance.now();
      super.send(data);
    }
  };

  // After the frame that holds a drawing: an animation frame, then a task behind it.
  const pending = new Set();
  const afterFrame = new MessageChannel();
  afterFrame.port1.onmessage = () => {
    const now = performance.now();
    for (const node of pending) {
      const chart = node.isConnected && node.closest(CHART);
      if (!chart) continue;
      bench.drawn.set(chart, now);
      bench.firstChart ??= now;
    }
    pending.clear();
  };
  const noteDrawing = (node) => {
    bench.lastActivity = performance.now();
    if (!pending.size) requestAnimationFrame(() => afterFrame.port2.postMessage(null));
    pending.add(node);
  };

  // Vega paints on a canvas, or changes an SVG in place.
  for (const name of ["clearRect", "fill", "stroke", "fillRect", "fillText"]) {
    const paint = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...all) {
      if (this.canvas instanceof HTMLCanvasElement && !pending.has(this.canvas)) noteDrawing(this.canvas);
      return paint.apply(this, all);
    };
  }
  const elementOf = (node) => (node instanceof Element ? node : node.parentElement);
  new MutationObserver((records) => {
    for (const { target } of records) {
      const element = elementOf(target);
      if (element?.closest("svg") && element.closest(CHART)) noteDrawing(element);
      if (element?.closest(MAIN)) bench.lastChange = bench.lastActivity = performance.now();
    }
    if (bench.firstHeading === null && document.querySelector(`${MAIN} h1`)) bench.firstHeading = performance.now();
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });

  // The server has answered, its run is over, and nothing has come in or changed for `quiet` milliseconds.
  bench.settled = (quiet) =>
    bench.sent !== null &&
    bench.lastReceived > bench.sent &&
    !pending.size &&
    document.querySelector('[data-test-script-state="notRunning"]') !== null &&
    performance.now() - bench.lastActivity > quiet;

  // Every chart is there and has been drawn: the code that draws them is fetched when the first is needed.
  bench.allDrawn = () =>
    bench.firstChart !== null &&
    !document.querySelector('[data-testid="stSkeleton"]') &&
    bench.charts().every((chart) => bench.drawn.has(chart));

  bench.charts = () => [...document.querySelectorAll(CHART)];
  const hash = (text) => {
    let value = 2166136261;
    for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
    return value;
  };
  // An SVG without the numbers that Vega gives its clip paths, which grow with each chart that is made anew.
  const textOf = (svg) => svg?.outerHTML.replace(/(clip|gradient_)\d+/g, "$1") ?? "";
  // What each chart shows, as a number: slow, so only read before a move and after the page has settled.
  bench.fingerprints = () =>
    bench.charts().map((chart) => {
      const canvas = chart.querySelector("canvas");
      return hash(canvas ? canvas.toDataURL() : textOf(chart.querySelector("svg")));
    });
  // How often the first chart shows something new, looked at every 30 milliseconds.
  bench.countChanges = () => {
    const text = () => textOf(bench.charts()[0]?.querySelector("svg"));
    let last = text();
    bench.changes = 0;
    bench.counting = setInterval(() => {
      const now = text();
      if (now !== last) bench.changes += 1;
      last = now;
    }, 30);
  };
  bench.changesSoFar = () => (clearInterval(bench.counting), bench.changes);
  bench.drawnAt = () => bench.charts().map((chart) => bench.drawn.get(chart) ?? null);
})();
