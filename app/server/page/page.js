// The page: a picture comes in, and is shown styled whenever it or the look changes.

import { showAfter, showBefore } from "/compare.js";
import { addControl, addStyle } from "/controls.js";
import { ask, keepToken, setToken } from "/server.js";

const part = (id) => document.getElementById(id);
const state = { file: null, limits: null, values: new Map(), request: null };

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

function take(file) {
  if (!file) return;
  if (state.limits && file.size > state.limits.bytes) {
    complain(`The file is larger than ${shownSize(state.limits.bytes)}, which the server takes.`);
    return;
  }
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

async function begin() {
  const description = await (await fetch("/openapi.json")).json();
  const parameters = description.paths["/api/pictures"].post.parameters;
  const first = parameters.find((parameter) => parameter.name === "style").schema.default;
  const [status, styles] = await Promise.all([ask("/api/status"), ask("/api/styles")]);
  state.limits = (await status.json()).limits;
  part("ask").close();
  const listed = await styles.json();
  part("styles").replaceChildren();
  part("first").replaceChildren();
  part("more").replaceChildren();
  const pictures = listed.map((style) => [addStyle(part("styles"), style, style.key === first), style]);
  for (const parameter of parameters.filter((one) => one.name !== "style")) {
    const place = part(parameter.name === "strength" ? "first" : "more");
    const value = addControl(place, parameter);
    if (value) state.values.set(parameter.name, value);
  }
  await Promise.all(pictures.filter(([, s]) => s.thumbnail).map(([p, s]) => thumbnail(p, s.thumbnail)));
}

part("choose").addEventListener("click", () => part("file").click());
part("another").addEventListener("click", () => part("file").click());
part("file").addEventListener("change", (event) => {
  take(event.target.files[0]);
  event.target.value = ""; // so that the same file can be chosen again
});
part("look").addEventListener("change", paint);
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
  if (file) take(file);
  else complain("That was not a file. Drop a picture from your files.");
});

keepToken();
begin().catch(fail);
