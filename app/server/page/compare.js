// The picture before and after, with a divider that is moved by pointer or keyboard.

const stage = document.getElementById("stage");
const box = document.getElementById("compare");
const after = document.getElementById("after");
const before = document.getElementById("before");
const split = document.getElementById("split");

function place() {
  box.style.setProperty("--split", `${split.value}%`);
}

function follow(event) {
  const { left, width } = box.getBoundingClientRect();
  split.value = String(Math.round((100 * (event.clientX - left)) / width));
  place();
}

split.addEventListener("input", place);
box.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  box.setPointerCapture(event.pointerId);
  follow(event);
});
box.addEventListener("pointermove", (event) => {
  if (box.hasPointerCapture(event.pointerId)) follow(event);
});
box.addEventListener("dragstart", (event) => event.preventDefault());

function appear(image) {
  stage.style.setProperty("--ratio", String(image.naturalWidth / image.naturalHeight));
  box.hidden = false;
}

// There is only a before until the first after is there. A format that the browser cannot show
// (HEIC, TIFF) has only an after.
before.addEventListener("load", () => appear(before));
before.addEventListener("error", () => box.classList.add("alone"));
after.addEventListener("load", () => {
  box.classList.remove("waiting");
  appear(after);
});

function show(image, blob) {
  if (image.src) URL.revokeObjectURL(image.src);
  image.src = URL.createObjectURL(blob);
}

export function showBefore(blob) {
  box.hidden = true;
  box.classList.remove("alone");
  box.classList.add("waiting");
  show(before, blob);
}

export function showAfter(blob) {
  show(after, blob);
  return after.src;
}
