/**
 * A strict parser for the XML that charts consist of. It supports only what they use, and throws on everything that an XML parser
 * rejects: tags that do not match, duplicate or unquoted attributes, bare `&` and `<`, forbidden characters.
 */

export interface XmlElement {
	readonly name: string
	readonly attributes: Readonly<Record<string, string>>
	readonly children: readonly XmlElement[]
	/** Its own text and that of its children. */
	readonly text: string
}

interface Open {
	name: string
	attributes: Record<string, string>
	children: XmlElement[]
	text: string
}

/** Follows the list of the XML standard, independently of `escapeXml`. */
export function isXmlCharacter(character: string): boolean {
	const code = character.codePointAt(0) ?? 0
	const isText = code >= 0x20 && code <= 0xd7ff
	return isText || '\t\n\r'.includes(character) || (code >= 0xe000 && code <= 0xfffd) || code >= 0x10000
}

const TAG = /^<(\/?)([A-Za-z][\w:-]*)((?:\s+[A-Za-z][\w:-]*="[^"<]*")*)\s*(\/?)>/
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** Returns the root element of a document. */
export function readXml(document: string): XmlElement {
	if (![...document].every(isXmlCharacter)) throw new Error('forbidden character')
	const top: Open = { name: '', attributes: {}, children: [], text: '' }
	const open: Open[] = [top]
	let rest = document.trim()
	while (rest !== '') {
		const parent = open.at(-1) ?? top
		if (!rest.startsWith('<')) {
			const end = rest.includes('<') ? rest.indexOf('<') : rest.length
			const text = unescaped(rest.slice(0, end))
			if (parent === top && text.trim() !== '') throw new Error('expected one root element')
			parent.text += text
			rest = rest.slice(end)
			continue
		}
		const [whole = '', slash, name = '', attributes = '', empty] = TAG.exec(rest) ?? []
		if (whole === '') throw new Error(`invalid tag: ${rest.slice(0, 60)}`)
		rest = rest.slice(whole.length)
		if (slash) {
			if (parent.name !== name) throw new Error(`</${name}> does not match <${parent.name}>`)
			open.pop()
			close(open.at(-1) ?? top, parent)
			continue
		}
		const element = { name, attributes: readAttributes(attributes), children: [], text: '' }
		if (empty) close(parent, element)
		else open.push(element)
	}
	const [root, ...others] = top.children
	if (!root || others.length > 0 || open.length > 1) throw new Error('expected one root element')
	return root
}

function close(parent: Open, child: Open): void {
	parent.children.push(child)
	parent.text += child.text
}

function readAttributes(source: string): Record<string, string> {
	const found: Record<string, string> = {}
	for (const [, name = '', value = ''] of source.matchAll(/([A-Za-z][\w:-]*)="([^"]*)"/g)) {
		if (name in found) throw new Error(`duplicate attribute ${name}`)
		found[name] = unescaped(value)
	}
	return found
}

function unescaped(text: string): string {
	return text.replace(/&([^;&]*;?)/g, (whole, name: string) => {
		const character = ENTITIES[name.replace(/;$/, '')]
		if (character === undefined || !name.endsWith(';')) throw new Error(`unknown entity: ${whole}`)
		return character
	})
}

/** Returns the element and all its descendants. */
export function allOf(element: XmlElement): readonly XmlElement[] {
	return [element, ...element.children.flatMap(allOf)]
}

/** Returns the elements with a class. */
export const ofClass = (root: XmlElement, name: string): readonly XmlElement[] =>
	allOf(root).filter(({ attributes }) => attributes['class']?.split(' ').includes(name))

/** Returns all texts that a chart shows. */
export const textsOf = (root: XmlElement): readonly string[] =>
	allOf(root)
		.filter(({ name }) => name === 'text')
		.map(({ text }) => text)
