// The page: sources, styles and controls around a Painter. STYLES and NETWORKS stand before.

const LONGEST_STREAM = 384; // pixels of a webcam's long side in the network
const LONGEST_PHOTO = 1024;
const LEAST = 16;

const byId = (id) => document.getElementById(id);
const canvas = byId("canvas");
const context = canvas.getContext("2d");
const source = document.createElement("canvas");
const scaled = source.getContext("2d", { willReadFrequently: true });
const video = document.createElement("video");
video.muted = true;
video.playsInline = true;

const painters = []; // by network
let style = STYLES[0];
let photo = null; // an ImageBitmap
let busy = false;
let again = false;
let frames = [];

function say(text) {
  byId("says").textContent = text;
}

// Returns the painter of the chosen style, with the style's weights.
async function ready() {
  const chosen = style;
  painters[chosen.network] ??= Painter.open(NETWORKS[chosen.network]).catch((error) => {
    delete painters[chosen.network];
    throw error;
  });
  const painter = await painters[chosen.network];
  if (!painter.watched) {
    painter.watched = true;
    painter.device.lost.then(() => {
      delete painters[chosen.network];
      say("The GPU was lost. Choose a style to try again.");
    });
  }
  if (!painter.styles.has(chosen.key)) {
    const answer = await fetch(chosen.weights);
    if (!answer.ok) throw new Error(`${chosen.weights} could not be loaded (${answer.status}).`);
    painter.load(chosen.key, new Uint16Array(await answer.arrayBuffer()));
  }
  return [painter, chosen.key];
}

function fitted(width, height, longest) {
  const scale = Math.min(1, longest / Math.max(width, height));
  return [width, height].map((side) => Math.max(LEAST, Math.round(side * scale)));
}

// Paints the current source once; a call while it paints makes it paint once more.
async function paint() {
  if (busy) {
    again = true;
    return;
  }
  const streaming = Boolean(video.srcObject) && video.videoWidth > 0;
  const from = streaming ? video : photo;
  if (!from) return;
  busy = true;
  try {
    const [painter, key] = await ready();
    const real = streaming ? [video.videoWidth, video.videoHeight] : [from.width, from.height];
    const [width, height] = fitted(...real, streaming ? LONGEST_STREAM : LONGEST_PHOTO);
    source.width = width;
    source.height = height;
    if (streaming) scaled.setTransform(-1, 0, 0, 1, width, 0); // a mirror, as people expect
    scaled.drawImage(from, 0, 0, width, height);
    const taken = scaled.getImageData(0, 0, width, height);
    const painted = await painter.paint(key, taken);
    const share = byId("strength").value / 100;
    if (share < 1)
      for (let n = 0; n < painted.data.length; n++)
        painted.data[n] = Math.round(share * painted.data[n] + (1 - share) * taken.data[n]);
    canvas.width = width;
    canvas.height = height;
    context.putImageData(painted, 0, 0);
    canvas.dataset.painted = key;
    byId("save").disabled = false;
    say("");
    count(streaming, painter);
  } catch (error) {
    stop();
    again = false;
    say(error.message);
  } finally {
    busy = false;
  }
  if (again || video.srcObject) {
    again = false;
    requestAnimationFrame(paint);
  }
}

function count(streaming, painter) {
  const now = performance.now();
  frames = streaming ? [...frames.filter((at) => now - at < 2000), now] : [];
  const rate = frames.length > 1 ? (1000 * (frames.length - 1)) / (now - frames[0]) : 0;
  byId("rate").textContent = rate ? `${Math.round(rate)} fps, ${painter.precision}` : "";
}

function stop() {
  for (const track of video.srcObject?.getTracks() ?? []) track.stop();
  video.srcObject = null;
  byId("camera").setAttribute("aria-pressed", "false");
  byId("rate").textContent = "";
}

async function start() {
  if (video.srcObject) return stop();
  if (!navigator.mediaDevices) return say("This browser gives pages a camera over https only.");
  say("Waiting for the camera");
  try {
    const wanted = { video: { width: 1280, height: 720 }, audio: false };
    video.srcObject = await navigator.mediaDevices.getUserMedia(wanted);
    await video.play();
  } catch (error) {
    stop();
    const missing = error.name === "NotFoundError";
    return say(missing ? "No camera was found." : `The camera could not be used: ${error.message}`);
  }
  byId("camera").setAttribute("aria-pressed", "true");
  say("Preparing the GPU");
  paint();
}

async function show(file) {
  if (!file) return;
  try {
    photo = await createImageBitmap(file);
  } catch {
    return say(`${file.name} is not a picture that this browser can read.`);
  }
  stop();
  say("Painting");
  paint();
}

function choose(key) {
  style = STYLES.find((each) => each.key === key);
  for (const button of byId("styles").children) {
    const chosen = button.dataset.key === key;
    button.setAttribute("aria-checked", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
  paint();
}

function addStyles() {
  for (const { key, title, picture } of STYLES) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", title: `Paint in the style ${title}` });
    button.setAttribute("role", "radio");
    button.dataset.key = key;
    const image = Object.assign(document.createElement("img"), { src: picture, alt: "" });
    button.append(image, title);
    button.onclick = () => choose(key);
    byId("styles").append(button);
  }
  byId("styles").onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (STYLES.indexOf(style) + step + STYLES.length) % STYLES.length;
    choose(STYLES[next].key);
    byId("styles").children[next].focus();
  };
}

function save() {
  canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${style.key}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

function fill() {
  if (document.fullscreenElement) document.exitFullscreen();
  else byId("stage").requestFullscreen?.();
}

function connect() {
  byId("camera").onclick = start;
  byId("open").onclick = () => byId("file").click();
  byId("file").onchange = () => show(byId("file").files[0]);
  byId("save").onclick = save;
  byId("full").onclick = fill;
  byId("strength").oninput = paint;
  const keys = { w: start, o: () => byId("file").click(), s: save, f: fill };
  document.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.type === "range") return;
    if (event.key === "s" && byId("save").disabled) return;
    keys[event.key.toLowerCase()]?.();
  };
  const stage = byId("stage");
  document.ondragover = (event) => {
    event.preventDefault();
    stage.classList.add("over");
  };
  document.ondragleave = () => stage.classList.remove("over");
  document.ondrop = (event) => {
    event.preventDefault();
    stage.classList.remove("over");
    show(event.dataTransfer.files[0]);
  };
}

addStyles();
choose(style.key);
connect();
say(navigator.gpu ? "Choose the webcam or a photo, or drop one here." : "This browser has no WebGPU.");
