// The page: a picture comes in, and is shown styled whenever it or the look changes.

import { showAfter, showBefore } from "/compare.js";
import { addControl, addStyle } from "/controls.js";
import { ask, keepToken, setToken } from "/server.js";

const part = (id) => document.getElementById(id);
const state = { file: null, limits: null, values: new Map(), request: null, own: new Set() };

function tell(sentence) {
  part("told").textContent = sentence;
}

function complain(sentence) {
  part("problem").textContent = sentence;
  part("problem").hidden = !sentence;
}

function query() {
  const chosen = document.querySelector("input[name=style]:checked");
  const given = new URLSearchParams(chosen ? { style: chosen.value } : {});
  for (const [name, value] of state.values) if (value()) given.set(name, value());
  return given;
}

function shownSize(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

// Styles the picture; what was asked for before is given up, here and in the server's line.
async function paint() {
  if (!state.file) return;
  state.request?.abort();
  const request = (state.request = new AbortController());
  const title = document.querySelector("input[name=style]:checked + * + span")?.textContent ?? "";
  const look = query();
  const began = performance.now();
  const count = () => {
    const seconds = Math.floor((performance.now() - began) / 1000);
    part("doing").textContent = seconds ? `Painting, ${seconds} s` : "Painting";
  };
  count();
  const clock = setInterval(count, 500);
  part("busy").hidden = false;
  complain("");
  tell(`Painting ${state.file.name || "the picture"} in ${title}`);
  try {
    const answer = await ask(`/api/pictures?${look}`, {
      method: "POST",
      body: state.file,
      signal: request.signal,
    });
    const picture = await answer.blob();
    const download = part("download");
    download.href = showAfter(picture);
    const name = (state.file.name || "picture").replace(/\.[^.]*$/, "");
    download.download = `${name}-${look.get("style") ?? "styled"}.${look.get("format") ?? "png"}`;
    download.hidden = false;
    part("ran").textContent = answer.headers.get("StyleForge-Ran") ?? "";
    const remark = answer.headers.get("StyleForge-Remark");
    const seconds = answer.headers.get("StyleForge-Seconds");
    tell(`${title}, painted in ${seconds} s, ${shownSize(picture.size)}.${remark ? ` ${remark}` : ""}`);
  } catch (error) {
    if (error.name === "AbortError") return;
    tell("");
    fail(error);
  } finally {
    clearInterval(clock);
    if (state.request === request) part("busy").hidden = true;
  }
}

function isTooLarge(file) {
  const tooLarge = state.limits && file.size > state.limits.bytes;
  if (tooLarge) complain(`The file is larger than the server's limit of ${shownSize(state.limits.bytes)}.`);
  return tooLarge;
}

function take(file) {
  if (!file || isTooLarge(file)) return;
  state.file = file;
  part("empty").hidden = true;
  part("bar").hidden = false;
  part("download").hidden = true;
  showBefore(file);
  paint();
}

function fail(error) {
  if (error.status === 401) {
    part("wrong").hidden = !part("token").value;
    if (!part("ask").open) part("ask").showModal();
    return;
  }
  const text = error.message;
  complain(text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : "."));
}

async function thumbnail(image, path) {
  image.src = URL.createObjectURL(await (await ask(path)).blob());
}

function chosenStyle() {
  return document.querySelector("input[name=style]:checked")?.value;
}

function showRemove() {
  part("remove-style").hidden = !state.own.has(chosenStyle());
}

// Shows the styles there are, of which one is chosen.
async function showStyles(listed, chosen) {
  part("styles").replaceChildren();
  state.own = new Set(listed.filter((style) => style.of_picture).map((style) => style.key));
  const pictures = listed.map((style) => [addStyle(part("styles"), style, style.key === chosen), style]);
  showRemove();
  await Promise.all(pictures.filter(([, s]) => s.thumbnail).map(([p, s]) => thumbnail(p, s.thumbnail)));
}

async function changeStyles(doing, change) {
  const buttons = [part("add-style"), part("remove-style")];
  for (const button of buttons) button.disabled = true;
  state.request?.abort();
  state.request = null;
  part("doing").textContent = doing;
  part("busy").hidden = false;
  complain("");
  try {
    const chosen = await change();
    await showStyles(await (await ask("/api/styles")).json(), chosen);
    paint();
  } catch (error) {
    fail(error);
  } finally {
    if (part("doing").textContent === doing) part("busy").hidden = true;
    for (const button of buttons) button.disabled = false;
  }
}

function addPictureStyle(file) {
  if (!file || isTooLarge(file)) return;
  const title = (file.name || "").replace(/\.[^.]*$/, "");
  changeStyles("Making a style from the picture", async () => {
    const answer = await ask(`/api/styles?${new URLSearchParams({ title })}`, { method: "POST", body: file });
    return (await answer.json()).key;
  });
}

function removePictureStyle() {
  const key = chosenStyle();
  changeStyles("Removing the style", async () => {
    await ask(`/api/styles/${encodeURIComponent(key)}`, { method: "DELETE" });
    return state.first;
  });
}

async function begin() {
  const description = await (await fetch("/openapi.json")).json();
  const parameters = description.paths["/api/pictures"].post.parameters;
  state.first = parameters.find((parameter) => parameter.name === "style").schema.default;
  const [status, styles] = await Promise.all([ask("/api/status"), ask("/api/styles")]);
  const told = await status.json();
  state.limits = told.limits;
  part("add-style").disabled = Boolean(told.style_pictures);
  part("add-style").title = told.style_pictures;
  part("ask").close();
  const listed = await styles.json();
  part("first").replaceChildren();
  part("more").replaceChildren();
  for (const parameter of parameters.filter((one) => one.name !== "style")) {
    const place = part(parameter.name === "strength" ? "first" : "more");
    const value = addControl(place, parameter);
    if (value) state.values.set(parameter.name, value);
  }
  await showStyles(listed, state.first);
}

part("choose").addEventListener("click", () => part("file").click());
part("another").addEventListener("click", () => part("file").click());
part("file").addEventListener("change", (event) => {
  take(event.target.files[0]);
  event.target.value = ""; // so that the same file can be chosen again
});
part("add-style").addEventListener("click", () => part("style-file").click());
part("style-file").addEventListener("change", (event) => {
  event.stopPropagation(); // it is no change of the look yet
  addPictureStyle(event.target.files[0]);
  event.target.value = "";
});
part("remove-style").addEventListener("click", removePictureStyle);
part("look").addEventListener("change", () => {
  showRemove();
  paint();
});
part("look").addEventListener("submit", (event) => event.preventDefault());
part("asking").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken(part("token").value);
  begin().catch(fail);
});
part("ask").addEventListener("cancel", (event) => event.preventDefault());

addEventListener("paste", (event) => {
  const file = event.clipboardData?.files[0];
  if (file) take(file);
});
for (const moment of ["dragenter", "dragover"]) {
  addEventListener(moment, (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
}
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dropping");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const file = event.dataTransfer.files[0];
  if (file && event.target.closest("#style")) addPictureStyle(file);
  else if (file) take(file);
  else complain("That was not a file. Drop a picture from your files.");
});

keepToken();
begin().catch(fail);
