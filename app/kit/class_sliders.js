// One row per slider. Values are sent while one drags, at most every 120 ms and only when the page has drawn the last
// ones; on release they are sent at once.
const PAUSE = 120;
const PATIENCE = 8000; // after which a value is sent although the page still draws

const isDrawing = () => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'running';

export default function ({ data, setStateValue, parentElement }) {
  const panel = parentElement.querySelector('details');
  const mine = panel.mine ?? (panel.mine = begin(panel, data));
  mine.send = (done) => {
    mine.seq += 1;
    mine.sentAt = Date.now();
    mine.waiting = false;
    setStateValue('move', { values: values(panel), seq: mine.seq, done });
  };
  const shape = JSON.stringify([data.rows.map(({ id, label, max }) => [id, label, max]), data.disabled]);
  if (shape !== mine.shape) build(panel, mine, data, shape);
  // What the page answers to an older value would pull the slider back.
  if (!mine.dragging && !mine.waiting && data.seq === mine.seq) show(panel, data.rows);
}

function begin(panel, data) {
  panel.open = window.innerWidth > 900;
  return { seq: data.seq, sentAt: 0, waiting: false, dragging: false, shape: '' };
}

function build(panel, mine, data, shape) {
  mine.shape = shape;
  panel.querySelector('summary').textContent = data.title;
  const box = panel.querySelector('.rows');
  box.replaceChildren(...data.rows.map((row) => line(row, data.disabled)));
  for (const input of box.querySelectorAll('input')) {
    input.addEventListener('input', () => moved(panel, mine, input));
    input.addEventListener('change', () => { mine.dragging = false; mine.send(true); });
    input.addEventListener('pointerdown', () => { mine.dragging = true; });
  }
  show(panel, data.rows);
}

function line({ id, label, max, unit }, disabled) {
  const row = document.createElement('label');
  row.className = id === '' ? 'row all' : 'row';
  row.title = label;
  const name = document.createElement('span');
  name.textContent = label;
  const input = Object.assign(document.createElement('input'), { type: 'range', min: 0, max, step: 1, disabled });
  input.dataset.id = id;
  input.dataset.unit = unit;
  input.setAttribute('aria-label', label);
  row.append(name, input, document.createElement('output'));
  return row;
}

function moved(panel, mine, input) {
  if (input.dataset.id === '') {
    for (const other of classes(panel)) write(other, input.value);
  }
  write(input, input.value);
  paintAll(panel);
  if (!mine.waiting) { mine.waiting = true; later(panel, mine); }
}

function later(panel, mine) {
  const since = Date.now() - mine.sentAt;
  const wait = Math.max(PAUSE - since, isDrawing() && since < PATIENCE ? 40 : 0);
  if (!mine.waiting) return; // sent on release
  if (wait > 0) setTimeout(() => later(panel, mine), wait);
  else mine.send(!mine.dragging);
}

const classes = (panel) => [...panel.querySelectorAll('input[data-unit="%"]')].filter((one) => one.dataset.id !== '');

function values(panel) {
  const inputs = [...panel.querySelectorAll('input')].filter((one) => one.dataset.id !== '');
  return Object.fromEntries(inputs.map((one) => [one.dataset.id, Number(one.value)]));
}

function show(panel, rows) {
  for (const input of panel.querySelectorAll('input')) {
    const row = rows.find(({ id }) => id === input.dataset.id);
    if (row && input.dataset.id !== '') write(input, row.value);
  }
  paintAll(panel);
}

function paintAll(panel) {
  const all = panel.querySelector('input[data-id=""]');
  if (!all) return;
  const now = classes(panel).map((one) => Number(one.value));
  const same = now.every((value) => value === now[0]);
  write(all, Math.round(now.reduce((sum, value) => sum + value, 0) / now.length));
  if (!same) {
    all.nextElementSibling.textContent = 'mixed';
    all.setAttribute('aria-valuetext', 'mixed');
  }
}

function write(input, value) {
  const text = input.dataset.unit ? `${value} ${input.dataset.unit}` : String(value);
  input.value = value;
  input.setAttribute('aria-valuetext', text);
  input.style.setProperty('--share', `${(100 * value) / input.max}%`);
  input.nextElementSibling.textContent = text;
}
