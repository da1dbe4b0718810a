/** The headers of a Node response at the moment when its head is written. */

type Pair = [name: string, value: string]
type Values = Readonly<Record<string, unknown>>

/**
 * `set` are the headers set before, `args` the arguments of `writeHead`: status, optional reason, and
 * optional headers as an object, as pairs or as a flat list. These headers replace the headers set before.
 */
export function sentHeaders(set: Values, args: readonly unknown[]): Pair[] {
	const given = args.find((arg, at) => at > 0 && typeof arg === 'object' && arg !== null)
	const replacing = given ? pairsOf(given) : []
	const replaced = new Set(replacing.map(([name]) => name))
	return [...pairsOf(set).filter(([name]) => !replaced.has(name)), ...replacing]
}

function pairsOf(headers: object): Pair[] {
	const entries = Array.isArray(headers) ? entriesOfList(headers) : Object.entries(headers)
	return entries.flatMap(([name, value]): Pair[] => {
		const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
		return values.map((one) => [String(name).toLowerCase(), String(one)])
	})
}

function entriesOfList(list: readonly unknown[]): (readonly unknown[])[] {
	if (Array.isArray(list[0])) return list.filter(Array.isArray)
	const entries: unknown[][] = []
	for (let at = 0; at < list.length; at += 2) entries.push([list[at], list[at + 1]])
	return entries
}
