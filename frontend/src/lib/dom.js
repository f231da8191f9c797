// Elements in one line: h("p", { class: "faint", onclick: … }, "text", child).

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

const SHAPES = {
  job: [["a", "M12 2 21 7 12 12 3 7Z"], ["b", "M3 7 12 12V22L3 17Z"], ["c", "M21 7 12 12V22L21 17Z"]],
  data: [["b", "M4 6V18C4 20 8 21.500 12 21.500S20 20 20 18V6Z"], ["a", "M4 6a8 3.500 0 1 0 16 0a8 3.500 0 1 0-16 0Z"], ["line", "M4 12C4 14 8 15.500 12 15.500S20 14 20 12"]],
  script: [["a", "M5 2H15L20 7V22H5Z"], ["c", "M15 2 20 7H15Z"], ["line", "M10.500 11 8 14 10.500 17M14.500 11 17 14 14.500 17"]],
  dockerimage: [["b", "M2 13H20C20 18 16 21 10 21 6 21 2 19 2 13Z"], ["line", "M20 13C20 11 21 9.500 22.500 9.500"],
    ["a", "M4 9H7V12H4ZM8 9H11V12H8ZM12 9H15V12H12ZM8 5H11V8H8ZM12 5H15V8H12ZM12 1H15V4H12Z"]],
};

// The same signs as the macro `icon` in templates/macros.html draws.
export function icon(type) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const shown = SHAPES[type] ? type : "data";
  svg.setAttribute("class", `icon ${shown}`);
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  for (const [kind, d] of SHAPES[shown]) {
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("class", kind);
    path.setAttribute("d", d);
    svg.append(path);
  }
  return svg;
}
