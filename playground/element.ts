/** The little that the page needs of a library for documents. Text is only ever set as text. */

type Properties = Readonly<Record<string, string | number | boolean | undefined>>

/** An element with attributes and children. `true` is an attribute without a value; false and undefined are none. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
	tag: Tag,
	attributes: Properties = {},
	...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
	const made = document.createElement(tag)
	for (const [name, value] of Object.entries(attributes)) {
		if (value !== undefined && value !== false) made.setAttribute(name, value === true ? '' : String(value))
	}
	made.append(...children)
	return made
}

/** What the page's own markup has under this id. That it has it is checked, so that a typo is told at once. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
	const found = document.getElementById(id)
	if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} with the id ${id}`)
	return found
}

/** Changes a text only if it is another: a screen reader is not to be told the same again. */
export function setText(element: Element, text: string): void {
	if (element.textContent !== text) element.textContent = text
}
