// Elements of the document. What comes from a node is text: nothing here reads HTML.

export const byId = (id) => document.getElementById(id);

// An element with attributes; the children are elements or text.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Writes only what differs, so that a selection of text and a screen reader are left in peace.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Hides the element where the text is empty.
export function showText(node, text) {
  setText(node, text);
  node.hidden = text === '';
}

// The list's items, one a text.
export function setItems(list, texts) {
  while (list.children.length > texts.length) list.lastElementChild.remove();
  while (list.children.length < texts.length) list.append(element('li'));
  texts.forEach((text, k) => setText(list.children[k], text));
  list.hidden = texts.length === 0;
}

// The value of a custom property of the page, such as a colour of the theme at hand.
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
