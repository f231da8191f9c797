// The scripts' texts in the page's language: English stands in the code, the page brings the others.

const element = document.getElementById("texts");
const texts = element ? JSON.parse(element.textContent) : {};

// Between two sentences, and after what a sentence is about: Chinese signs bring their own space.
const isChinese = document.documentElement.lang.startsWith("zh");
export const gap = isChinese ? "" : " ";
export const colon = isChinese ? "：" : ": ";

const fill = (text, values) => text.replace(/%\((\w+)\)[sd]/g, (_, name) => values[name]);

// _("Line %(line)s", { line: 7 })
export const _ = (text, values = {}) => fill(texts[text] || text, values);

// ngettext("%(num)d match", "%(num)d matches", count): Chinese has one form, English two.
export function ngettext(one, many, count, values = {}) {
  const found = texts[one]?.[0] || (count === 1 ? one : many);
  return fill(found, { num: count, ...values });
}
