// The page: its elements, and what they show. STYLES and NETWORKS stand before.

const byId = (id) => document.getElementById(id);
const canvas = byId("canvas");
const context = canvas.getContext("2d");
const result = document.createElement("canvas"); // the painting of a photo or of a camera's picture

let last = null; // the picture before and the painting, of one size

// Writes a text once: screen readers would repeat one that is written with every frame.
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const say = (text) => write(byId("says"), text);
const tell = (text) => write(byId("tells"), text); // to screen readers only
const rate = (text) => write(byId("rate"), text);

// Shows `painted` in place of `before`; both are an image or a canvas.
function present(before, painted, { style, kind }) {
  last = { before, painted };
  canvas.width = painted.naturalWidth ?? painted.width;
  canvas.height = painted.naturalHeight ?? painted.height;
  Object.assign(canvas.dataset, { painted: style.key, source: kind.name });
  const words = `${kind.words}, painted in the style ${style.title}`;
  canvas.setAttribute("aria-label", words);
  blend();
  canvas.hidden = false;
  byId("first").hidden = true;
  byId("save").disabled = byId("strength").disabled = false;
  tell(words);
}

// Draws the last painting in the chosen strength.
function blend() {
  const share = byId("strength").value / 100;
  if (share < 1) context.drawImage(last.before, 0, 0);
  context.globalAlpha = share;
  context.drawImage(last.painted, 0, 0);
  context.globalAlpha = 1;
}

function save(key) {
  if (!last) return;
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${key}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

function fillScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else byId("stage").requestFullscreen?.();
}
