// Shows what /openapi.json describes: routes, parameters and answers.

const part = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map(kind).join(" | ");
  if ("const" in schema) return String(schema.const);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.type === "array") return `${kind(schema.items)}, repeatable`;
  const bounds = "minimum" in schema ? ` ${schema.minimum} to ${schema.maximum}` : "";
  return (schema.format === "binary" ? "picture" : schema.type ?? "") + bounds;
}

function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  const made = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "scroll" }, made);
}

function code(text) {
  return element("code", {}, text);
}

function answers(responses) {
  return Object.entries(responses).map(([status, response]) => {
    const contents = Object.entries(response.content ?? {});
    const what = contents.map(([type, content]) => [type, kind(content.schema)].filter(Boolean).join(": "));
    return [code(status), response.description, what.join(", ")];
  });
}

function route(method, path, described) {
  const name = element("code", { class: "route" }, element("span", { class: "method" }, method.toUpperCase()), ` ${path}`);
  const made = element("section", {}, element("h2", {}, described.summary), name);
  const parameters = (described.parameters ?? []).map(({ name, description, schema }) => {
    const by = schema.default === undefined ? "" : String(schema.default);
    return [code(name), kind(schema), by, description ?? ""];
  });
  if (parameters.length) {
    made.append(element("h3", {}, "Parameters"), table(["name", "value", "default", "meaning"], parameters));
  }
  if (described.requestBody) {
    made.append(element("h3", {}, "Body"), element("p", {}, described.requestBody.description));
  }
  made.append(element("h3", {}, "Responses"), table(["status", "meaning", "content"], answers(described.responses)));
  return made;
}

const description = await (await fetch("/openapi.json")).json();
part("about").textContent = description.info.description.replaceAll("`", "");
part("example").textContent = `curl --data-binary @photo.jpg -H "Authorization: Bearer $TOKEN" \\
  "${location.origin}/api/pictures?style=candy&strength=0.8&format=jpeg" -o styled.jpg`;
for (const [path, methods] of Object.entries(description.paths)) {
  for (const [method, described] of Object.entries(methods)) part("routes").append(route(method, path, described));
}
