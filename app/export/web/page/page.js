// The page: a loop that paints, and the controls.

const HINT = "Start the webcam, or drop a photo here.";

const painters = []; // by network, promises
let style = STYLES[0];
let turn = 0; // counts the choices of a style or source; a painting for an earlier one is dropped
let busy = false;
let again = false;
let starting = false; // the camera

// Returns the painter of a style's network, without weights.
async function opened(chosen) {
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
  return painter;
}

// Returns the painter of a style with its weights, which are loaded once.
async function ready(chosen) {
  const painter = await opened(chosen);
  if (!painter.styles.has(chosen.key)) {
    const answer = await fetch(chosen.weights);
    if (!answer.ok) throw new Error(`${chosen.weights} could not be loaded (${answer.status}).`);
    painter.load(chosen.key, new Uint16Array(await answer.arrayBuffer()));
  }
  return painter;
}

// Shows the current source painted once; a call meanwhile makes it paint once more.
async function paint() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  const now = { turn, style, kind: kindOfSource() };
  try {
    await (now.kind === SCENE ? showScene(now) : paintNow(now));
  } catch (error) {
    fail(error);
  } finally {
    busy = false;
  }
  if (again || video.srcObject) {
    again = false;
    requestAnimationFrame(paint);
  }
}

// Shows the lake, which was painted as the page was made: this needs no GPU and no weights.
async function showScene(now) {
  const pictures = await Promise.all(["scene.webp", now.style.scene].map(loaded));
  if (now.turn === turn) present(...pictures, now);
}

async function paintNow(now) {
  const painter = await ready(now.style);
  if (now.turn !== turn) return;
  const pixels = taken(now.kind);
  const start = performance.now();
  const painted = await painter.paint(now.style.key, pixels);
  if (now.turn !== turn) return;
  const { width, height } = Object.assign(result, { width: painted.width, height: painted.height });
  result.getContext("2d").putImageData(painted, 0, 0);
  present(given, result, now);
  const fps = now.kind === CAMERA ? Math.round(pace.count()) : 0;
  const speed = fps ? `${fps} fps` : `${Math.round(performance.now() - start)} ms`;
  rate(`${speed} · ${width} × ${height} · ${painter.precision}`);
  say("");
}

// Says why nothing is painted. Without a GPU, the page shows the lake again.
function fail(error) {
  closeCamera();
  showStopped();
  say(error.message);
  if (!(error instanceof NoGpu)) return;
  photo = null;
  again = canvas.dataset.source !== SCENE.name;
}

function showStopped() {
  byId("camera").setAttribute("aria-pressed", "false");
  rate("");
}

// Stops the camera; its last picture stays, as a photo.
async function stop() {
  if (!video.srcObject) return;
  closeCamera();
  turn += 1;
  showStopped();
  if (canvas.dataset.source === CAMERA.name) photo = await createImageBitmap(given);
}

async function start() {
  if (video.srcObject) return stop();
  if (starting) return;
  starting = true;
  say("Preparing the GPU");
  try {
    await adapter(); // a camera would be of no use without it
    say("Waiting for the camera");
    await openCamera();
  } catch (error) {
    return error instanceof NoGpu ? fail(error) : say(error.message);
  } finally {
    starting = false;
  }
  turn += 1;
  const [track] = video.srcObject.getVideoTracks();
  track.onended = () => stop().then(() => say("The camera was disconnected."));
  byId("camera").setAttribute("aria-pressed", "true");
  say("Preparing the GPU");
  pace.start();
  paint();
}

async function show(file) {
  if (!file) return;
  let read;
  try {
    read = await createImageBitmap(file);
  } catch {
    return say(`${file.name} is not a picture that this browser can read.`);
  }
  await stop();
  photo = read;
  turn += 1;
  say("Painting");
  paint();
}

function choose(key) {
  style = STYLES.find((each) => each.key === key);
  turn += 1;
  for (const button of byId("styles").children) {
    const chosen = button.dataset.key === key;
    button.setAttribute("aria-checked", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (chosen) button.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  paint();
}

function addStyles() {
  STYLES.forEach(({ key, title, picture }, index) => {
    const button = document.createElement("button");
    const digit = index < 9 ? ` (${index + 1})` : "";
    Object.assign(button, { type: "button", title: `Paint in the style ${title}${digit}` });
    button.setAttribute("role", "radio");
    button.dataset.key = key;
    const image = Object.assign(document.createElement("img"), { src: picture, alt: "" });
    button.append(image, title);
    button.onclick = () => choose(key);
    byId("styles").append(button);
  });
  byId("styles").onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (STYLES.indexOf(style) + step + STYLES.length) % STYLES.length;
    choose(STYLES[next].key);
    byId("styles").children[next].focus();
  };
}

function chooseFile() {
  byId("file").value = ""; // or the same file again would be no change
  byId("file").click();
}

function connectKeys() {
  const keys = {
    w: start,
    o: chooseFile,
    s: () => save(style.key),
    f: fillScreen,
  };
  STYLES.slice(0, 9).forEach(({ key }, index) => (keys[index + 1] = () => choose(key)));
  document.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    keys[event.key.toLowerCase()]?.();
  };
}

function connect() {
  byId("camera").onclick = start;
  byId("open").onclick = chooseFile;
  byId("file").onchange = () => show(byId("file").files[0]);
  byId("save").onclick = () => save(style.key);
  byId("full").onclick = fillScreen;
  byId("full").hidden = !document.fullscreenEnabled;
  byId("strength").oninput = () => video.srcObject || blend(); // a camera's next picture has it
  const stage = byId("stage");
  stage.ondblclick = fillScreen;
  document.ondragover = (event) => {
    event.preventDefault();
    stage.classList.add("over");
  };
  document.ondragleave = (event) => {
    if (!event.relatedTarget) stage.classList.remove("over");
  };
  document.ondrop = (event) => {
    event.preventDefault();
    stage.classList.remove("over");
    show(event.dataTransfer.files[0]);
  };
  document.onpaste = (event) => show(event.clipboardData.files[0]);
}

addStyles();
connect();
connectKeys();
choose(style.key);
adapter().then(() => say(HINT), fail);
