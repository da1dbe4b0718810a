/** DOM helpers. They set text only as text, never as markup. */

type Properties = Readonly<Record<string, string | number | boolean | undefined>>

/** Creates an element. `true` sets an attribute without a value; false and undefined set none. */
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

/** Returns the element with this id. Throws if there is none of this kind. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
	const found = document.getElementById(id)
	if (!(found instanceof kind)) throw new Error(`No ${kind.name} with the id "${id}"`)
	return found
}

/** Sets a text only if it differs, because screen readers announce every change. */
export function setText(element: Element, text: string): void {
	if (element.textContent !== text) element.textContent = text
}

/** Copies a text to the clipboard. If the browser does not allow that, selects it, so that the user can copy it. */
export async function copy(text: string, source?: Element): Promise<'copied' | 'selected'> {
	try {
		await navigator.clipboard.writeText(text)
		return 'copied'
	} catch {
		if (source) getSelection()?.selectAllChildren(source)
		return 'selected'
	}
}
