// Elements are made here and filled with text only: nothing from the data is ever parsed as markup.
const byId = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function shape(name, attributes, hint) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (hint) {
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = hint;
    made.append(title);
  }
  return made;
}

function svgText(x, y, text, anchor = "middle") {
  const made = shape("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

function bytes(base64) {
  const text = atob(base64);
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

const number = (value) => value.toLocaleString("en");
const percent = (share) => `${Math.round(100 * share)}%`;
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;
