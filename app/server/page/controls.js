// The controls of the look, made of the parameters that the server describes in /openapi.json.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function percent(value) {
  return `${Math.round(100 * value)} %`;
}

function range(id, value) {
  return element("input", { id, type: "range", min: "0", max: "1", step: "0.05", value });
}

function row(id, title, ...children) {
  return element("div", { class: "row" }, element("label", { for: id, class: "name" }, title), ...children);
}

// Each kind of control gives its elements, and the text of its value; "" for the default.
function slider(id, schema) {
  const input = range(id, schema.default);
  const shown = element("output", { for: id }, percent(schema.default));
  input.addEventListener("input", () => (shown.value = percent(input.value)));
  return [[row(id, schema.title, shown), input], () => input.value];
}

function amount(id, schema, automatic) {
  const box = element("input", { id, type: "checkbox" });
  const input = range(`${id}-amount`, 0.5);
  const shown = element("output", { for: input.id }, percent(0.5));
  input.setAttribute("aria-label", schema.title);
  const update = () => {
    shown.value = box.checked ? "" : percent(input.value);
    input.hidden = box.checked;
  };
  box.checked = schema.default === automatic;
  box.addEventListener("input", update);
  input.addEventListener("input", update);
  update();
  return [
    [row(id, `Automatic ${schema.title.toLowerCase()}`, shown, box), input],
    () => (box.checked ? automatic : input.value),
  ];
}

// A list whose last option is an angle, set by a slider.
function direction(id, schema) {
  const keys = schema.anyOf.filter((one) => "const" in one);
  const angle = schema.anyOf.find((one) => !("const" in one));
  const list = element("select", { id });
  for (const { const: value, title } of keys) list.append(element("option", { value }, title));
  list.append(element("option", { value: "" }, angle.title));
  const most = angle.exclusiveMaximum - 1;
  const input = element("input", { type: "range", min: 0, max: most, value: 45, "aria-label": angle.title });
  const update = () => { input.disabled = list.value !== ""; };
  list.addEventListener("input", update);
  update();
  return [[row(id, schema.title, list), input], () => list.value || input.value];
}

function choice(id, schema, options) {
  const input = element("select", { id });
  for (const { value, title } of options) {
    const option = element("option", { value }, title);
    option.selected = value === String(schema.default ?? "");
    input.append(option);
  }
  return [[row(id, schema.title, input)], () => input.value];
}

function toggle(id, schema, on, off) {
  const input = element("input", { id, type: "checkbox" });
  input.checked = String(schema.default) === on;
  return [[row(id, schema.title, input)], () => (input.checked ? on : off)];
}

function text(id, schema) {
  const input = element("input", { id, type: "text", pattern: schema.pattern, value: schema.default, placeholder: "0.25,0.4,30" });
  return [[row(id, schema.title), input], () => input.value];
}

function make(id, schema) {
  const automatic = { value: "", title: "Automatic" };
  if (schema["x-checked"]) {
    const on = schema["x-checked"];
    return toggle(id, schema, on, schema.oneOf.find((one) => one.const !== on).const);
  }
  if (schema.oneOf) {
    return choice(id, schema, schema.oneOf.map((one) => ({ value: String(one.const), title: one.title })));
  }
  if (schema.examples) {
    const listed = schema.examples.map((one) => ({ value: String(one), title: String(one) }));
    return choice(id, schema, [automatic, ...listed]);
  }
  if (schema.anyOf?.length > 2) return direction(id, schema);
  if (schema.anyOf) return amount(id, schema, schema.anyOf[0].const);
  if (schema.enum) {
    return choice(id, schema, [automatic, ...schema.enum.map((one) => ({ value: String(one), title: String(one) }))]);
  }
  if (schema.type === "boolean") return toggle(id, schema, "true", "false");
  if (schema.type === "number") return slider(id, schema);
  if (schema.pattern) return text(id, schema);
  return null;
}

// Adds the control of a parameter to `place`; returns what gives the text of its value, or null.
export function addControl(place, parameter) {
  const id = `look-${parameter.name}`;
  const made = make(id, parameter.schema);
  if (made === null) return null;
  const [parts, value] = made;
  const hint = element("p", { class: "hint", id: `${id}-hint` }, parameter.schema.description ?? parameter.description);
  for (const part of parts) {
    const input = part.matches("input, select") ? part : part.querySelector("input, select");
    input?.setAttribute("aria-describedby", hint.id);
  }
  place.append(element("div", { class: "control" }, ...parts, hint));
  return value;
}

export function addStyle(place, style, isChosen) {
  const input = element("input", { type: "radio", name: "style", value: style.key });
  input.checked = isChosen;
  const picture = element(style.thumbnail ? "img" : "div", style.thumbnail ? { alt: "" } : { class: "blank" });
  place.append(element("label", { class: "card", title: style.credit }, input, picture, element("span", {}, style.title)));
  return picture;
}
