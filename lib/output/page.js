'use strict';
/* Draws the data of the page: rank by step, and operations on one clock. Text from the data is never used as HTML. */
(() => {
  const SCALE_NOTHING = 1, SCALE_FIRST = 2, SCALE_LAST = 255;

  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes))
      if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
      else if (value !== false) made.setAttribute(key, value === true ? '' : value);
    made.append(...children);
    return made;
  };

  /* Three significant digits, as in the rest of the report. */
  const say_time = us => {
    const size = Math.abs(us);
    const [unit, factor] = size >= 999.5e3 ? ['s', 1e6] : size >= 999.5 ? ['ms', 1e3] : size >= 0.9995 ? ['us', 1] : ['ns', 1e-3];
    const shown = us / factor, figures = Math.abs(shown);
    return shown.toFixed(figures >= 100 || factor < 1 ? 0 : figures >= 10 ? 1 : 2) + ' ' + unit;
  };

  const clamp = (value, least, most) => Math.max(least, Math.min(most, value));
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /* Decodes base64 of the differences from the row above, with runs of zeros as a count: see lib/output/html_heat.c. */
  const decode = (text, rows, columns) => {
    const bytes = atob(text), cells = new Uint8Array(rows * columns);
    let at = 0;
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes.charCodeAt(i);
      for (let times = byte ? 1 : bytes.charCodeAt(++i); times > 0; times--, at++)
        cells[at] = (at >= columns ? cells[at - columns] : 0) + byte;
    }
    return cells;
  };

  const value_of = (layer, byte) => {
    if (byte === 0) return NaN;
    if (byte === SCALE_NOTHING) return 0;
    return layer.least * Math.pow(layer.most / layer.least, (byte - SCALE_FIRST) / (SCALE_LAST - SCALE_FIRST));
  };

  /* A canvas with rows: zoom, drag, a selection that the keyboard moves, and a description of the selection in words. */
  class View {
    constructor(host, label, row_height, most_height) {
      this.host = host;
      this.row_height = row_height;
      this.most_height = most_height;
      this.left = 70;
      this.rows_in_pixel = 1;
      this.top = 20;
      this.selected = null;
      this.canvas = element('canvas', {tabindex: 0, role: 'application', 'aria-roledescription': 'chart', 'aria-label': label});
      this.said = element('output', {'aria-live': 'polite'});
      this.canvas.addEventListener('keydown', event => this.key(event));
      this.canvas.addEventListener('pointerdown', event => this.press(event));
      this.canvas.addEventListener('pointermove', event => this.move(event));
      this.canvas.addEventListener('pointerup', event => this.lift(event));
      this.canvas.addEventListener('pointercancel', () => { this.pressed = null; });
      this.canvas.addEventListener('pointerleave', () => this.say(this.selected));
      this.canvas.addEventListener('wheel', event => this.wheel(event), {passive: false});
      this.canvas.addEventListener('dblclick', event => { event.preventDefault(); this.zoom(3, this.place(event).part, this.place(event).row); });
      new ResizeObserver(() => this.draw()).observe(this.canvas);
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    }

    fit() {
      this.from = 0;
      this.to = this.width_of_all();
      this.first_row = 0;
      this.draw();
    }

    rows_shown() {
      return Math.min(this.row_count(), Math.max(1, Math.floor(this.most_height / this.row_height)));
    }

    place(event) {
      const box = this.canvas.getBoundingClientRect();
      const part = clamp((event.clientX - box.left - this.left) / Math.max(1, box.width - this.left), 0, 1);
      const row = Math.floor((event.clientY - box.top - this.top) / this.row_pixels) * this.rows_in_pixel + this.first_row;
      return {part, at: this.from + part * (this.to - this.from), row: clamp(row, 0, this.row_count() - 1)};
    }

    zoom(times, part = 0.5) {
      const whole = this.width_of_all(), centre = this.from + part * (this.to - this.from);
      const width = clamp((this.to - this.from) / times, this.least_width(), whole);
      this.from = clamp(centre - part * width, 0, whole - width);
      this.to = this.from + width;
      this.draw();
    }

    shift(by) {
      const width = this.to - this.from;
      this.from = clamp(this.from + by, 0, this.width_of_all() - width);
      this.to = this.from + width;
    }

    wheel(event) {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.3 : 1 / 1.3, this.place(event).part, this.place(event).row);
    }

    press(event) {
      this.pressed = {x: event.clientX, y: event.clientY, from: this.from, to: this.to, first_row: this.first_row, moved: false};
      this.canvas.setPointerCapture(event.pointerId);
    }

    move(event) {
      if (!this.pressed) {
        this.say(this.hit(this.place(event)));
        return;
      }
      const pressed = this.pressed, box = this.canvas.getBoundingClientRect();
      const across = event.clientX - pressed.x, down = event.clientY - pressed.y;
      if (!pressed.moved && Math.hypot(across, down) < 5) return;
      pressed.moved = true;
      this.from = pressed.from;
      this.to = pressed.to;
      this.shift(-across / Math.max(1, box.width - this.left) * (pressed.to - pressed.from));
      this.first_row = clamp(pressed.first_row - Math.round(down / this.row_pixels * this.rows_in_pixel), 0, this.row_count() - this.rows_shown());
      this.draw();
    }

    lift(event) {
      if (this.pressed && !this.pressed.moved) this.select(this.hit(this.place(event)));
      this.pressed = null;
    }

    select(what) {
      if (!what) return;
      this.selected = what;
      this.show(what);
      this.say(what);
      this.draw();
    }

    say(what) {
      this.said.textContent = what ? this.words(what) : this.hint;
    }

    /* Scrolls until the selection is visible. */
    show(what) {
      const at = this.place_of(what), width = this.to - this.from;
      if (at < this.from || at >= this.to) this.shift(at - width / 2 - this.from);
      if (what.row < this.first_row) this.first_row = what.row;
      if (what.row >= this.first_row + this.rows_shown()) this.first_row = what.row - this.rows_shown() + 1;
    }

    key(event) {
      const far = event.shiftKey ? 10 : 1;
      const moves = {
        ArrowLeft: [-far, 0], ArrowRight: [far, 0], ArrowUp: [0, -far], ArrowDown: [0, far],
        PageUp: [0, -this.rows_shown()], PageDown: [0, this.rows_shown()], Home: [-Infinity, 0], End: [Infinity, 0],
      };
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (moves[event.key]) this.select(this.step(...moves[event.key]));
      else if (event.key === '+' || event.key === '=') this.zoom(1.5, this.part_of_selection());
      else if (event.key === '-') this.zoom(1 / 1.5, this.part_of_selection());
      else if (event.key === '0') this.fit();
      else return;
      event.preventDefault();
    }

    part_of_selection() {
      return this.selected ? clamp((this.place_of(this.selected) - this.from) / (this.to - this.from), 0, 1) : 0.5;
    }

    buttons() {
      return element('span', {},
        element('button', {type: 'button', onclick: () => this.zoom(1.5, this.part_of_selection())}, 'Zoom in'),
        element('button', {type: 'button', onclick: () => this.zoom(1 / 1.5, this.part_of_selection())}, 'Zoom out'),
        element('button', {type: 'button', onclick: () => this.fit()}, 'All'));
    }

    help() {
      const keys = [['arrows', 'move'], ['Shift', 'by 10'], ['Home', ''], ['End', 'ends'], ['+', ''], ['-', 'zoom'], ['0', 'all']];
      const line = element('p', {class: 'help'});
      for (const [key, what] of keys) line.append(element('kbd', {}, key), what ? ` ${what}, ` : ' ');
      line.append('drag to move, Ctrl+wheel or double-click to zoom');
      return line;
    }

    /* Sets up the canvas for device pixels. Returns its context, and sizes in CSS pixels. */
    begin(rows, row_pixels) {
      const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.top + rows * row_pixels + 2;
      this.row_pixels = row_pixels;
      this.left = this.label_width(width);
      if (this.canvas.style.height !== height + 'px') this.canvas.style.height = height + 'px';
      if (this.canvas.width !== Math.round(width * ratio)) this.canvas.width = Math.round(width * ratio);
      if (this.canvas.height !== Math.round(height * ratio)) this.canvas.height = Math.round(height * ratio);
      const context = this.canvas.getContext('2d');
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = '11px system-ui, sans-serif';
      context.textBaseline = 'middle';
      return {context, width, height};
    }

    label_width(width) {
      return Math.min(this.longest_label, width * 0.3);
    }

    measure_labels(labels) {
      const context = this.canvas.getContext('2d');
      context.font = '11px system-ui, sans-serif';
      let longest = 30;
      for (const label of labels) longest = Math.max(longest, context.measureText(label.slice(0, 60)).width);
      this.longest_label = Math.min(180, longest + 12);
    }

    label(context, text, y, style) {
      let shown = text.slice(0, 60);
      while (shown.length > 1 && context.measureText(shown).width > this.left - 8) shown = shown.slice(0, -2) + '…';
      context.fillStyle = style;
      context.textAlign = 'right';
      context.fillText(shown, this.left - 6, y);
    }
  }

  class Heat extends View {
    constructor(host, heat) {
      super(host, 'Rank by step. Use the arrow keys to move; the text below describes the selection.', 14, 460);
      this.heat = heat;
      this.columns = Math.ceil(heat.steps / heat.fold);
      this.layers = heat.layers.map(layer => ({...layer, cells: decode(layer.cells, heat.ranks.length, this.columns)}));
      this.hint = 'Nothing selected: click a cell, or focus the picture and press an arrow key.';
      for (const layer of this.layers) layer.levels = this.find_levels(layer);
      this.marks = new Map();
      for (const mark of heat.marks || []) this.marks.set(mark[0], [...(this.marks.get(mark[0]) || []), mark]);
      this.layer = this.layers[heat.shown] || this.layers[0];
      this.build();
      this.fit();
      this.say(null);
    }

    /* The colour level of each byte value. */
    find_levels(layer) {
      const levels = new Uint8Array(256);
      for (let byte = 1; byte < 256; byte++) {
        const value = value_of(layer, byte) - (layer.key === 'length' && this.heat.usual ? this.heat.usual : 0);
        let level = layer.levels.length - 1;
        while (level > 0 && !(layer.unit > 0 && value >= layer.levels[level] * layer.unit)) level--;
        levels[byte] = level + 1;
      }
      return levels;
    }

    /* One row of the picture per chosen rank, per rank, or per host with its ranks. */
    group(by) {
      const heat = this.heat, rows = new Map();
      if (by === 'finding') for (const [rank, reason] of heat.chosen) rows.set(rank, {name: heat.ranks[rank], ranks: [rank], reason});
      else heat.ranks.forEach((name, rank) => {
        const key = by === 'host' ? heat.host[rank] : rank;
        if (!rows.has(key)) rows.set(key, {name: by === 'host' ? heat.hosts[key] || 'unknown host' : name, ranks: []});
        rows.get(key).ranks.push(rank);
      });
      this.by = by;
      this.choice.value = by;
      this.first_row = 0;
      this.rows = [...rows.values()];
      this.selected = null;
      this.measure_labels(this.rows.map(row => this.row_name(row)));
    }

    row_name(row) {
      if (this.by === 'host') return row.ranks.length > 1 ? `${row.name} (${row.ranks.length} ranks)` : row.name;
      return 'rank ' + row.name + (row.reason ? ', ' + row.reason : '');
    }

    build() {
      const choice = element('fieldset', {}, element('legend', {}, 'Show'));
      for (const layer of this.layers) {
        const radio = element('input', {type: 'radio', name: this.host.id + '-value', value: layer.key, checked: layer === this.layer,
          onchange: () => { this.layer = layer; this.draw(); this.say(this.selected); }});
        choice.append(element('label', {}, radio, ' ' + layer.title.charAt(0).toLowerCase() + layer.title.slice(1)));
      }
      const search = element('input', {type: 'search', placeholder: 'rank or host', 'aria-label': 'Search for a rank or host',
        onkeydown: event => { if (event.key === 'Enter') this.search(search.value); }, onchange: () => this.search(search.value)});
      const tools = element('div', {class: 'tools'}, choice), {hosts, ranks, chosen = []} = this.heat;
      this.choice = element('select', {onchange: event => { this.group(event.target.value); this.fit(); this.say(null); }});
      if (chosen.length) this.choice.append(element('option', {value: 'finding'}, `${chosen.length} ranks of the findings`));
      this.choice.append(element('option', {value: 'rank'}, `all ${ranks.length} ranks`));
      if (hosts.length > 1 && hosts.length < ranks.length) this.choice.append(element('option', {value: 'host'}, `${hosts.length} hosts`));
      if (this.choice.length > 1) tools.append(element('label', {}, 'Rows ', this.choice));
      tools.append(search, this.buttons());
      this.host.append(tools, this.canvas, this.said, this.help());
      this.group(chosen.length ? 'finding' : 'rank');
    }

    /* The next row below the selection with that rank name, or whose name or host contains the text. */
    search(text) {
      const wanted = text.trim().replace(/^rank\s+/i, '').toLowerCase();
      if (!wanted) return;
      const fits = row => row.ranks.some(rank => this.heat.ranks[rank].toLowerCase() === wanted);
      const holds = row => row.name.toLowerCase().includes(wanted) ||
        row.ranks.some(rank => (this.heat.hosts[this.heat.host[rank]] || '').toLowerCase().includes(wanted));
      if (this.by === 'finding' && !this.rows.some(fits) && this.heat.ranks.some(name => name.toLowerCase() === wanted)) {
        this.group('rank');
        this.fit();
      }
      const from = this.selected ? this.selected.row + 1 : 0, count = this.rows.length;
      for (const test of [fits, holds])
        for (let i = 0; i < count; i++) {
          const row = (from + i) % count;
          if (!test(this.rows[row])) continue;
          this.select({row, column: this.selected ? this.selected.column : Math.floor(this.from)});
          return;
        }
      if (this.by === 'finding') {
        this.group('rank');
        this.fit();
        this.search(text);
        return;
      }
      this.said.textContent = `No rank or host name contains “${text.slice(0, 80)}”.`;
    }

    width_of_all() { return this.columns; }
    least_width() { return Math.min(4, this.columns); }
    row_count() { return this.rows.length; }
    rows_shown() { return this.rows_in_view; }
    place_of(what) { return what.column + 0.5; }
    hit(place) { return {row: place.row, column: clamp(Math.floor(place.at), 0, this.columns - 1)}; }

    step(across, down) {
      const now = this.selected;
      if (!now) return {row: 0, column: Math.floor(this.from)};
      return {row: clamp(now.row + down, 0, this.rows.length - 1), column: clamp(now.column + across, 0, this.columns - 1)};
    }

    fit() {
      this.rows_in_view = this.rows.length;
      super.fit();
    }

    /* Zooming in also reduces the number of visible rows, if not all rows can be large. */
    zoom(times, part, row = this.selected ? this.selected.row : this.first_row + this.rows_in_view / 2) {
      const count = this.rows.length, before = this.rows_in_view;
      this.rows_in_view = Math.round(clamp(before / times, Math.min(count, Math.floor(this.most_height / 14)), count));
      const share = clamp((row - this.first_row) / before, 0, 1);
      this.first_row = clamp(Math.round(row - share * this.rows_in_view), 0, count - this.rows_in_view);
      super.zoom(times, part);
    }

    /* The largest value of the ranks of a row. */
    value(layer, row, column) {
      let greatest = 0;
      for (const rank of this.rows[row].ranks) greatest = Math.max(greatest, layer.cells[rank * this.columns + column]);
      return value_of(layer, greatest);
    }

    said_of(row, column) {
      const first = this.heat.first + column * this.heat.fold, last = first + this.heat.fold - 1;
      return this.rows[row].ranks.flatMap(rank => this.marks.get(rank) || []).find(mark => mark[1] <= last && mark[2] >= first);
    }

    words(what) {
      const heat = this.heat, row = this.rows[what.row], first = heat.first + what.column * heat.fold;
      const host = this.by !== 'host' ? heat.hosts[heat.host[row.ranks[0]]] : '';
      const steps = heat.fold > 1 ? `steps ${first}-${Math.min(first + heat.fold, heat.first + heat.steps) - 1}` : `step ${first}`;
      const parts = [];
      for (const layer of this.layers) {
        const value = this.value(layer, what.row, what.column);
        if (layer.key === 'length' && !isNaN(value)) {
          const more = heat.usual ? value - heat.usual : NaN;
          parts.push('took ' + say_time(value) + (isNaN(more) ? '' : ` (baseline ${say_time(heat.usual)})`));
        } else if (layer.key === 'waiting') parts.push(isNaN(value) ? 'wait time unknown' : 'waited ' + say_time(value));
        else if (layer.key === 'own') parts.push(isNaN(value) ? 'own delay unknown' : 'own delay ' + say_time(value));
        else if (layer.key === 'sent' || layer.key === 'received') {
          const about = layer.key === 'sent' ? 'network wait of what it sends ' : 'of what is sent to it ';
          if (!isNaN(value)) parts.push(`${about}${value.toPrecision(2)} times the baseline`);
        } else parts.push('step time unknown');
      }
      const mark = this.said_of(what.row, what.column);
      const most = row.ranks.length > 1 || heat.fold > 1 ? ' (largest values)' : '';
      return `${this.row_name(row)}${host ? ' on ' + host : ''}, ${steps}: ${parts.join(', ')}${most}.${mark ? ' Finding: ' + mark[3] + '.' : ''}`;
    }

    draw() {
      const count = this.rows_in_view, pixels = Math.max(1, Math.min(18, Math.floor(this.most_height / count)));
      /* If there are more rows than pixels, several rows share a pixel, which shows the largest value. */
      const each = Math.max(1, Math.ceil(count / this.most_height)), shown = Math.ceil(count / each);
      const {context, width} = this.begin(shown, pixels);
      if (width <= 0) return;
      this.rows_in_pixel = each;
      this.draw_cells(context, width, shown, pixels, each);
      this.draw_axes(context, width, shown, pixels, each);
      this.draw_marks(context, width, pixels, each);
    }

    /* The visible cells, one pixel each; a pixel of several cells has the largest value. Cached until the view or the colours change. */
    paint(first, last, together, shown, each) {
      const palette = this.palette(), key = [first, last, together, shown, each, this.first_row, this.by, this.layer.key, ...palette].join();
      if (key === this.painted) return this.still;
      const across = Math.ceil((last - first) / together), image = new ImageData(across, shown);
      const words = new Uint32Array(image.data.buffer), {cells, levels} = this.layer;
      for (let row = 0; row < this.rows_in_view; row++)
        for (const rank of this.rows[this.first_row + row].ranks) {
          let at = Math.floor(row / each) * across, left = together;
          for (let cell = rank * this.columns + first, end = rank * this.columns + last; cell < end; cell++) {
            const level = levels[cells[cell]];
            if (level > words[at]) words[at] = level;
            if (--left === 0) {
              at++;
              left = together;
            }
          }
        }
      for (let i = 0; i < words.length; i++) words[i] = palette[words[i]];
      this.still = element('canvas');
      this.still.width = across;
      this.still.height = shown;
      this.still.getContext('2d').putImageData(image, 0, 0);
      this.painted = key;
      return this.still;
    }

    draw_cells(context, width, shown, pixels, each) {
      const room = width - this.left, first = Math.floor(this.from), last = Math.min(this.columns, Math.ceil(this.to));
      const together = Math.max(1, Math.floor((last - first) / Math.max(1, room))), across = Math.ceil((last - first) / together);
      const still = this.paint(first, last, together, shown, each);
      const scale = room / (this.to - this.from);
      context.save();
      context.beginPath();
      context.rect(this.left, this.top, room, shown * pixels);
      context.clip();
      context.imageSmoothingEnabled = false;
      context.drawImage(still, this.left + (first - this.from) * scale, this.top, across * together * scale, shown * pixels);
      /* Draws lines between large cells. */
      context.fillStyle = colour('--ground');
      for (let row = 1; pixels >= 10 && row < shown; row++) context.fillRect(this.left, this.top + row * pixels - 1, room, 1);
      for (let column = first + 1; scale >= 10 && column < last; column++)
        context.fillRect(this.left + (column - this.from) * scale - 1, this.top, 1, shown * pixels);
      context.restore();
    }

    /* The colours of unknown cells and of the levels, as RGBA bytes of a canvas. */
    palette() {
      const little = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
      return ['--ground', '--l0', '--l1', '--l2', '--l3', '--l4'].map(name => {
        const text = colour(name), wide = text.length === 4 ? text.replace(/[0-9a-f]/gi, digit => digit + digit) : text;
        const rgb = parseInt(wide.slice(1), 16), red = rgb >> 16 & 255, green = rgb >> 8 & 255, blue = rgb & 255;
        return (little ? 0xff000000 | blue << 16 | green << 8 | red : red << 24 | green << 16 | blue << 8 | 255) >>> 0;
      });
    }

    draw_axes(context, width, shown, pixels, each) {
      const soft = colour('--soft'), scale = (width - this.left) / (this.to - this.from);
      const down = Math.max(1, Math.ceil(13 / pixels));
      for (let row = 0; row < shown; row += down)
        this.label(context, this.row_name(this.rows[this.first_row + row * each]), this.top + row * pixels + pixels / 2, colour('--text'));
      let across = 1;
      while (across * scale < 44) across *= across.toString().startsWith('2') ? 2.5 : 2;
      context.fillStyle = soft;
      context.textAlign = 'center';
      for (let column = Math.ceil(this.from / across) * across; column < this.to; column += across)
        context.fillText(String(this.heat.first + column * this.heat.fold), this.left + (column + 0.5 - this.from) * scale, this.top / 2);
      context.textAlign = 'right';
      context.fillText('step', this.left - 6, this.top / 2);
    }

    draw_marks(context, width, pixels, each) {
      const scale = (width - this.left) / (this.to - this.from), heat = this.heat;
      const frame = (row, from, to, style, thick) => {
        const x = this.left + (from - this.from) * scale, y = this.top + Math.floor((row - this.first_row) / each) * pixels;
        context.strokeStyle = style;
        context.lineWidth = thick;
        context.strokeRect(x + 0.5, y + 0.5, Math.max(2, (to - from) * scale - 1), Math.max(2, pixels - 1));
      };
      context.save();
      context.beginPath();
      context.rect(this.left - 1, this.top - 1, width - this.left + 1, this.canvas.clientHeight);
      context.clip();
      this.rows.slice(this.first_row, this.first_row + this.rows_in_view).forEach((row, place) => {
        const number = this.first_row + place;
        for (const rank of row.ranks)
          for (const mark of this.marks.get(rank) || [])
            frame(number, Math.floor((mark[1] - heat.first) / heat.fold), Math.floor((mark[2] - heat.first) / heat.fold) + 1,
              colour('--frame'), 2);
      });
      if (this.selected) frame(this.selected.row, this.selected.column, this.selected.column + 1, colour('--text'), 3);
      context.restore();
    }
  }

  class Lanes extends View {
    constructor(host, lanes) {
      super(host, lanes.title + '. Use the arrow keys to move; the text below describes the selection.', 20, 720);
      this.lanes = lanes;
      this.hint = 'Nothing selected: click an operation, or focus the picture and press an arrow key.';
      this.bars = lanes.lanes.map(lane => {
        const bars = [];
        let begin = 0;
        for (let i = 0; i < lane.bars.length; i += 7) {
          begin += lane.bars[i];
          bars.push({begin: begin / 10, length: lane.bars[i + 1] / 10, waiting: lane.bars[i + 2] / 10, name: lane.bars[i + 3],
            group: lane.bars[i + 4], open: lane.bars[i + 5], slow: lane.bars[i + 6] / 10});
        }
        return bars;
      });
      this.measure_labels(lanes.lanes.map(lane => this.row_name(lane)));
      this.host.append(element('div', {class: 'tools'}, this.buttons()), this.canvas, this.said, this.help());
      this.fit();
      this.say(null);
    }

    row_name(lane) {
      return lane.name + (lane.reason ? ', ' + lane.reason : '');
    }

    width_of_all() { return Math.max(this.lanes.length, 0.001); }
    least_width() { return Math.min(1, this.width_of_all()); }
    row_count() { return this.bars.length; }
    place_of(what) { return this.bars[what.row][what.bar].begin; }

    /* The bar at a place, or the nearest bar of the lane within six pixels. */
    hit(place) {
      const slack = (this.to - this.from) / Math.max(1, this.canvas.clientWidth - this.left) * 6;
      let best = null, nearest = slack;
      this.bars[place.row].forEach((bar, number) => {
        const distance = Math.max(bar.begin - place.at, place.at - bar.begin - bar.length, 0);
        if (distance < nearest || (distance === 0 && nearest === 0)) {
          nearest = distance;
          best = {row: place.row, bar: number};
        }
      });
      return best;
    }

    step(across, down) {
      const now = this.selected;
      let row = now ? now.row : this.bars.findIndex(bars => bars.length);
      if (row < 0) return null;
      if (!now) return {row, bar: 0};
      if (!down) return {row, bar: clamp(now.bar + across, 0, this.bars[row].length - 1)};
      const at = this.bars[row][now.bar].begin;
      for (row = clamp(row + down, 0, this.bars.length - 1); row >= 0 && row < this.bars.length; row += Math.sign(down)) {
        if (!this.bars[row].length) continue;
        const later = this.bars[row].findIndex(bar => bar.begin + bar.length > at);
        return {row, bar: later < 0 ? this.bars[row].length - 1 : later};
      }
      return now;
    }

    words(what) {
      const bar = this.bars[what.row][what.bar], texts = this.lanes.texts;
      const tag = bar.group >= 0 ? `, phase ${texts[bar.group]}` : '';
      const when = `started at ${say_time(bar.begin)}`;
      if (bar.open === 1) return `rank ${this.lanes.lanes[what.row].name}: ${texts[bar.name]}${tag}, ${when}, never finished.`;
      if (bar.open === 2) return `rank ${this.lanes.lanes[what.row].name}: ${texts[bar.name]}${tag}, ${when}; its end is unknown.`;
      const waited = bar.waiting > 0 ? `, including ${say_time(bar.waiting)} waiting for the last rank` : '';
      return `rank ${this.lanes.lanes[what.row].name}: ${texts[bar.name]}${tag}, ${when}, took ${say_time(bar.length)}${waited}${bar.slow > 0 ? `; its network steps waited ${say_time(bar.slow)} on average` : ''}.`;
    }

    draw() {
      const shown = this.rows_shown(), {context, width} = this.begin(shown, this.row_height), room = width - this.left;
      if (width <= 0) return;
      const scale = room / (this.to - this.from), x_of = at => this.left + (at - this.from) * scale;
      this.draw_axis(context, width, shown, x_of);
      const colours = ['--moving', '--waiting', '--open', '--text', '--accent', '--soft'].map(colour);
      for (let i = 0; i < shown; i++) {
        const lane = this.lanes.lanes[this.first_row + i], y = this.top + i * this.row_height;
        this.label(context, this.row_name(lane), y + this.row_height / 2, lane.accused ? colours[4] : colours[3]);
        context.save();
        context.beginPath();
        context.rect(this.left, 0, room, this.canvas.clientHeight);
        context.clip();
        if (lane.missing) {
          context.textAlign = 'left';
          context.fillStyle = colours[5];
          context.fillText(lane.missing, this.left + 4, y + this.row_height / 2);
        }
        this.draw_lane(context, this.first_row + i, y + 3, x_of, scale, colours);
        context.restore();
      }
    }

    draw_lane(context, row, y, x_of, scale, colours) {
      const height = this.row_height - 6;
      this.bars[row].forEach((bar, number) => {
        if (bar.begin > this.to || bar.begin + bar.length < this.from) return;
        const x = x_of(bar.begin), length = Math.max(0.6, bar.length * scale - 0.4);
        context.fillStyle = bar.open === 1 ? colours[2] : colours[0];
        context.fillRect(x, y, length, height);
        if (bar.waiting > 0) {
          context.fillStyle = colours[1];
          context.fillRect(x, y, Math.min(length, Math.max(0.6, bar.waiting * scale)), height);
        }
        if (bar.slow > 0) {
          const waited = Math.min(length, bar.waiting * scale);
          context.fillStyle = colours[2];
          context.fillRect(x + waited, y + height - 4, length - waited, 4);
        }
        if (this.selected && this.selected.row === row && this.selected.bar === number) {
          context.strokeStyle = colours[3];
          context.lineWidth = 2;
          context.strokeRect(x, y - 1, Math.max(2, length), height + 2);
        }
      });
    }

    draw_axis(context, width, shown, x_of) {
      const rough = (this.to - this.from) / Math.max(2, (width - this.left) / 90), power = Math.pow(10, Math.floor(Math.log10(rough)));
      const tick = power * (rough / power <= 1 ? 1 : rough / power <= 2 ? 2 : rough / power <= 5 ? 5 : 10);
      context.textAlign = 'center';
      for (let at = Math.ceil(this.from / tick) * tick; at <= this.to; at += tick) {
        context.fillStyle = colour('--line');
        context.fillRect(x_of(at), this.top, 1, shown * this.row_height);
        context.fillStyle = colour('--soft');
        context.fillText(at < tick / 2 ? '0' : say_time(at), Math.min(x_of(at), width - 22), this.top / 2);
      }
    }
  }

  const data = JSON.parse(document.getElementById('data').textContent);
  document.documentElement.classList.add('script');
  for (const run of data.runs) {
    if (run.heat) new Heat(document.getElementById('heat-' + run.id), run.heat);
    for (const lanes of run.lanes || []) new Lanes(document.getElementById(lanes.id), lanes);
  }
})();
